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

/** The folder in which one Crier keeps everything it keeps: database, uploads, outgoing mail, secrets. */
export interface DataDirectory {
  /** Absolute, without symbolic links. */
  readonly path: string
  /**
   * A random value that is made on first use and the same from then on, as base64url text.
   *
   * @param name a file name: lower-case letters, digits and dashes
   * @param bytes how many random bytes it holds when it is made
   */
  secret(name: string, bytes?: number): string
  /**
   * A folder for files that matter no longer once the process is gone. Empty: what the last run left there is removed.
   *
   * @param name a file name
   * @param elsewhere an existing folder for it, which several data folders may share
   */
  scratch(name: string, elsewhere?: string): string
  /** Gives the folder free for another process. Nothing may be written to it afterwards. */
  close(): void
}

/** A data folder that cannot be used; the message says why and what to do, for the person who starts Crier. */
export class DataDirectoryError extends Error {
  override name = 'DataDirectoryError'
}

/**
 * Opens the data folder, making it when it is not there, and takes it for this process alone.
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

/** Makes names that were just created or renamed in a folder survive a power failure. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** What an operator can do something about, in words. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there (EACCES)',
  EPERM: 'this user may not write there (EPERM)',
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
    throw new DataDirectoryError(`The data folder ${path} cannot be used: ${reason}. Set DATA_DIR to one that can.`, {
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
 * The lock is a file that names its holder. It is made whole under another name and linked to its place, which fails
 * when the place is taken, so it is never seen half written. A holder that no longer runs is moved aside; if what was
 * moved turns out to be the lock of one who took it in between, it is put back.
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
          `The data folder ${folder} is in use by another Crier, process ${holder.pid}. ` +
            'Stop that one first, or set DATA_DIR to another folder.',
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
    // A disk that was full or lost power left it torn: whoever wrote it does not run any more.
    return undefined
  }
}

function keepSecret(folder: string, name: string, bytes: number): string {
  if (!/^[a-z0-9-]+$/.test(name)) throw new TypeError(`not a secret's name: ${name}`)
  const secrets = join(folder, 'secrets')
  const file = join(secrets, name)
  const kept = readIfThere(file)
  if (kept !== undefined) return kept
  mkdirSync(secrets, { recursive: true, mode: 0o700 })
  const fresh = `${file}.${process.pid}.new`
  writeFileSync(fresh, randomBytes(bytes).toString('base64url'), { mode: 0o600, flush: true })
  // Another process of ours may have made it meanwhile: then that one counts.
  link(fresh, file)
  rmSync(fresh)
  syncFolder(secrets)
  syncFolder(folder)
  return readFileSync(file, 'utf8')
}

/** @returns false when there is something at `to` already */
function link(from: string, to: string): boolean {
  return unless('EEXIST', () => linkSync(from, to))
}

/** @returns false when there is nothing at `from` */
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
