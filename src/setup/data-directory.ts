import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { processIdentity } from './process-identity.ts'

/** The folder where one Crier process stores all its data: database, uploads, outgoing mail and secrets. */
export interface DataDirectory {
  /** Absolute, with symbolic links resolved. */
  readonly path: string
  /**
   * A random value as base64url text. It is created on first use and never changes.
   *
   * @param name a file name: lower-case letters, digits and dashes
   * @param bytes how many random bytes to create
   */
  secret(name: string, bytes?: number): string
  /**
   * A folder for temporary files of this process. It is empty: files of the previous run are deleted.
   *
   * @param name a file name
   * @param elsewhere an existing parent folder, which several data folders may share
   */
  scratch(name: string, elsewhere?: string): string
  /** Releases the folder for another process. Do not write to it afterwards. */
  close(): void
}

/** The data folder cannot be used. The message tells the operator why and what to do. */
export class DataDirectoryError extends Error {
  override name = 'DataDirectoryError'
}

/**
 * Opens the data folder for this process only, creating it if necessary.
 *
 * @throws {DataDirectoryError} when another running process holds it, or it cannot be written
 */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  const folder = makeFolder(path)
  const release = takeLock(folder)
  return {
    path: folder,
    secret: (name, bytes = 32) => keepSecret(folder, name, bytes),
    scratch: (name, elsewhere) =>
      emptyFolder(elsewhere === undefined ? join(folder, name) : join(elsewhere, `crier-${name}-${shortHash(folder)}`)),
    close: release,
  }
}

/** Syncs a folder, so that created and renamed entries survive a power failure. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Messages for errors that an operator can fix. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user cannot write to it (EACCES)',
  EPERM: 'this user cannot write to it (EPERM)',
  EROFS: 'the file system is read-only (EROFS)',
}

function makeFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const folder = realpathSync(path)
    const probe = join(folder, `.writable.${process.pid}`)
    writeFileSync(probe, '')
    rmSync(probe)
    return folder
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const reason = REASONS[code] ?? message
    throw new DataDirectoryError(`The data folder ${path} cannot be used: ${reason}. Set DATA_DIR to another folder.`, {
      cause: error,
    })
  }
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function emptyFolder(path: string): string {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { mode: 0o700, recursive: true })
  return path
}

interface Holder {
  pid: number
  identity: string
}

/**
 * The lock is a file that names its holder. It is written under another name and then hard linked to its path, which
 * fails if the path exists, so it is never seen incomplete. The lock of a dead process is moved away. If another
 * process has taken the lock in between, its lock is moved back.
 */
function takeLock(folder: string): () => void {
  const lock = join(folder, 'crier.lock')
  const mine = `${lock}.${process.pid}`
  const content = JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) })
  writeFileSync(mine, content, { mode: 0o600 })
  try {
    while (!link(mine, lock)) {
      const found = readIfThere(lock)
      if (found === undefined) continue
      const holder = parseHolder(found)
      if (holder !== undefined && processIdentity(holder.pid) === holder.identity) {
        throw new DataDirectoryError(
          `The data folder ${folder} is in use by another Crier process (${holder.pid}). ` +
            'Stop that process first, or set DATA_DIR to another folder.',
        )
      }
      const aside = `${mine}.old`
      if (!move(lock, aside)) continue
      if (readFileSync(aside, 'utf8') !== found) link(aside, lock)
      rmSync(aside)
    }
  } finally {
    rmSync(mine)
  }
  return () => {
    if (readIfThere(lock) === content) rmSync(lock)
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, identity } = JSON.parse(text) as Partial<Holder>
    return typeof pid === 'number' && typeof identity === 'string' ? { pid, identity } : undefined
  } catch {
    // A full disk or a power failure left it incomplete. Its writer no longer runs.
    return undefined
  }
}

function keepSecret(folder: string, name: string, bytes: number): string {
  if (!/^[a-z0-9-]+$/.test(name)) throw new TypeError(`invalid name of a secret: ${name}`)
  const secrets = join(folder, 'secrets')
  const file = join(secrets, name)
  const kept = readIfThere(file)
  if (kept !== undefined) return kept
  mkdirSync(secrets, { recursive: true, mode: 0o700 })
  const fresh = `${file}.${process.pid}.new`
  writeFileSync(fresh, randomBytes(bytes).toString('base64url'), { mode: 0o600, flush: true })
  // Another process of this installation may have created it in the meantime. Its value is used.
  link(fresh, file)
  rmSync(fresh)
  syncFolder(secrets)
  syncFolder(folder)
  return readFileSync(file, 'utf8')
}

/** @returns false when `to` already exists */
function link(from: string, to: string): boolean {
  return unless('EEXIST', () => linkSync(from, to))
}

/** @returns false when `from` does not exist */
function move(from: string, to: string): boolean {
  return unless('ENOENT', () => renameSync(from, to))
}

function unless(code: string, action: () => void): boolean {
  try {
    action()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false
    throw error
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
