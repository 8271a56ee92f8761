import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, constants, copyFile, link, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../tools/id.ts'
import type { ByteRange } from '../core/reply.ts'
import { missing, storageError } from './disk-errors.ts'
import { removeAccessOfOthers, FILE_MODE, makeFolder } from './disk-modes.ts'
import { DiskPieces } from './disk-pieces.ts'
import { checkKey, isKey, type PutOptions, type Storage, type StoredFile } from './storage.ts'

export interface DiskOptions {
  /** The root folder. It is created if it does not exist. */
  readonly directory: string
  readonly clock: Clock
}

/**
 * Stores files in a folder. A file is written under a temporary name, synced and then renamed, so that a crash or a full
 * disk leaves no partial file. Folders are sharded by the last byte of the id, which is random.
 */
export class DiskStorage implements Storage {
  readonly kind = 'disk'
  readonly pieces: DiskPieces
  readonly #root: string
  readonly #files: string
  readonly #incoming: string
  readonly #pieces: string
  readonly #clock: Clock

  constructor({ directory, clock }: DiskOptions) {
    this.#root = directory
    this.#files = join(directory, 'files')
    this.#incoming = join(directory, 'incoming')
    this.#clock = clock
    this.#pieces = join(directory, 'pieces')
    this.pieces = new DiskPieces(this.#pieces, (from, key) => this.#link(from, key))
  }

  async put(key: string, body: Readable, options: PutOptions): Promise<StoredFile> {
    const target = this.localPath(key)
    const temporary = join(this.#incoming, uuidv7(this.#clock.now()))
    try {
      await makeFolder(this.#incoming)
      await pipeline(body, createWriteStream(temporary, WRITE_OPTIONS))
      const { size } = await stat(temporary)
      if (options.size !== undefined && size !== options.size) {
        throw new Error(`received ${size} bytes of a file of ${options.size} bytes`)
      }
      await publish(temporary, target)
      return await this.#stored(target)
    } catch (error) {
      body.destroy()
      await rm(temporary, { force: true })
      throw storageError(error)
    }
  }

  async get(key: string, range?: ByteRange): Promise<Readable | undefined> {
    const handle = await open(this.localPath(key)).catch(missing)
    if (handle === undefined) return undefined
    return createReadStream('', { fd: handle, highWaterMark: 128 * 1024, ...range })
  }

  async blocks(key: string, range?: ByteRange): Promise<AsyncIterable<Buffer> | undefined> {
    const handle = await open(this.localPath(key)).catch(missing)
    return handle && readBlocks(handle, range)
  }

  async stat(key: string): Promise<StoredFile | undefined> {
    return this.#stored(this.localPath(key)).catch(missing)
  }

  async copy(from: string, to: string): Promise<void> {
    await this.#copy(this.localPath(from), this.localPath(to))
  }

  async delete(key: string): Promise<void> {
    await rm(this.localPath(key), { force: true }).catch((error: unknown) => {
      throw storageError(error)
    })
  }

  async *list(): AsyncIterable<{ key: string; modifiedAt: string }> {
    for (const owner of await namesIn(this.#files, 'folders')) {
      for (const shard of await namesIn(join(this.#files, owner), 'folders')) {
        for (const name of await namesIn(join(this.#files, owner, shard), 'files')) {
          const key = `${owner}/${name}`
          const found = isKey(key) ? await this.stat(key) : undefined
          if (found) yield { key, modifiedAt: found.modifiedAt }
        }
      }
    }
  }

  async sweep(olderThanMs: number): Promise<number> {
    const before = this.#clock.now() - olderThanMs
    let deleted = 0
    for (const folder of [this.#incoming, this.#pieces]) {
      for (const name of (await readdir(folder).catch(missing)) ?? []) {
        const path = join(folder, name)
        const found = await stat(path).catch(missing)
        if (found === undefined || found.mtimeMs > before) continue
        await rm(path, { force: true })
        deleted += 1
      }
    }
    return deleted
  }

  async ping(): Promise<void> {
    try {
      await makeFolder(this.#files)
      await removeAccessOfOthers(this.#root)
    } catch (error) {
      throw storageError(error)
    }
  }

  localPath(key: string): string {
    const [owner = '', name = ''] = checkKey(key).split('/')
    return join(this.#files, owner, name.slice(34, 36), name)
  }

  async signedGet(): Promise<undefined> {
    return undefined
  }

  async signedPut(): Promise<undefined> {
    return undefined
  }

  /** Hard-links a written file to its key. Copies it if the file system has no hard links. */
  async #link(from: string, key: string): Promise<StoredFile> {
    const target = this.localPath(key)
    try {
      await makeFolder(dirname(target))
      await link(from, target)
      await syncFolder(dirname(target))
    } catch (error) {
      if (!NO_HARD_LINK.has((error as NodeJS.ErrnoException).code ?? '')) throw storageError(error)
      await this.#copy(from, target)
    }
    return this.#stored(target)
  }

  async #copy(from: string, target: string): Promise<void> {
    const temporary = join(this.#incoming, uuidv7(this.#clock.now()))
    try {
      await makeFolder(this.#incoming)
      await copyFile(from, temporary, constants.COPYFILE_EXCL)
      await chmod(temporary, FILE_MODE)
      await publish(temporary, target)
    } catch (error) {
      throw storageError(error)
    } finally {
      await rm(temporary, { force: true })
    }
  }

  async #stored(path: string): Promise<StoredFile> {
    const { size, mtime } = await stat(path)
    return { size, modifiedAt: mtime.toISOString() }
  }
}

const WRITE_OPTIONS = { flags: 'wx', flush: true, highWaterMark: 256 * 1024, mode: FILE_MODE } as const

const BLOCK_BYTES = 256 * 1024

/** Reads all blocks into the same memory. */
async function* readBlocks(handle: FileHandle, range: ByteRange = { start: 0, end: Infinity }): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  try {
    for (let at = range.start; at <= range.end;) {
      const { bytesRead } = await handle.read(block, 0, Math.min(BLOCK_BYTES, range.end - at + 1), at)
      if (bytesRead === 0) return
      yield block.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** Error codes of file systems that cannot hard-link a file. */
const NO_HARD_LINK = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])

/** Lists one folder at a time, because all names of a large library would fill the memory. */
async function namesIn(folder: string, kind: 'folders' | 'files'): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(missing)) ?? []
  return entries.filter((entry) => entry.isDirectory() === (kind === 'folders')).map((entry) => entry.name)
}

/** Renames a written file to its final name, durably. */
async function publish(from: string, to: string): Promise<void> {
  await makeFolder(dirname(to))
  await rename(from, to)
  await syncFolder(dirname(to))
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
