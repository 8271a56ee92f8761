import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../core/clock.ts'
import { uuidv7 } from '../core/id.ts'
import type { ByteRange } from '../core/reply.ts'
import { missing, storageError } from './disk-errors.ts'
import { DiskPieces } from './disk-pieces.ts'
import { checkKey, type PutOptions, type Storage, type StoredFile } from './storage.ts'

export interface DiskOptions {
  /** Folder of everything; made when it is missing. */
  readonly directory: string
  readonly clock: Clock
}

/**
 * Files in a folder. A file is written under a name of its own beside the others, synced, and then given its name: a
 * crash or a full disk leaves no half file. Folders are sharded by the last byte of the id, which is random.
 */
export class DiskStorage implements Storage {
  readonly kind = 'disk'
  readonly pieces: DiskPieces
  readonly #files: string
  readonly #incoming: string
  readonly #pieces: string
  readonly #clock: Clock

  constructor({ directory, clock }: DiskOptions) {
    this.#files = join(directory, 'files')
    this.#incoming = join(directory, 'incoming')
    this.#clock = clock
    this.#pieces = join(directory, 'pieces')
    this.pieces = new DiskPieces(this.#pieces, (from, key) => this.#adopt(from, key))
  }

  async put(key: string, body: Readable, options: PutOptions): Promise<StoredFile> {
    const target = this.localPath(key)
    const temporary = join(this.#incoming, uuidv7(this.#clock.now()))
    try {
      await mkdir(this.#incoming, { recursive: true })
      await pipeline(body, createWriteStream(temporary, { flags: 'wx', flush: true, highWaterMark: 256 * 1024 }))
      const { size } = await stat(temporary)
      if (options.size !== undefined && size !== options.size) {
        throw new Error(`${size} bytes came for a file of ${options.size}`)
      }
      await place(temporary, target)
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

  async delete(key: string): Promise<void> {
    await rm(this.localPath(key), { force: true }).catch((error: unknown) => {
      throw storageError(error)
    })
  }

  async *list(): AsyncIterable<{ key: string; modifiedAt: string }> {
    const entries = (await readdir(this.#files, { recursive: true, withFileTypes: true }).catch(missing)) ?? []
    for (const entry of entries) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const found = await this.#stored(path).catch(missing)
      const owner = dirname(entry.parentPath).slice(this.#files.length + 1)
      if (found) yield { key: `${owner}/${entry.name}`, modifiedAt: found.modifiedAt }
    }
  }

  async sweep(olderThanMs: number): Promise<number> {
    const before = this.#clock.now() - olderThanMs
    let removed = 0
    for (const folder of [this.#incoming, this.#pieces]) {
      for (const name of (await readdir(folder).catch(missing)) ?? []) {
        const path = join(folder, name)
        const found = await stat(path).catch(missing)
        if (found === undefined || found.mtimeMs > before) continue
        await rm(path, { force: true })
        removed += 1
      }
    }
    return removed
  }

  async ping(): Promise<void> {
    await mkdir(this.#files, { recursive: true }).catch((error: unknown) => {
      throw storageError(error)
    })
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

  async #adopt(from: string, key: string): Promise<StoredFile> {
    const target = this.localPath(key)
    await place(from, target)
    return this.#stored(target)
  }

  async #stored(path: string): Promise<StoredFile> {
    const { size, mtime } = await stat(path)
    return { size, modifiedAt: mtime.toISOString() }
  }
}

const BLOCK_BYTES = 256 * 1024

/** Reads into one block of memory again and again. */
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

/** Gives a written file its name, durably. */
async function place(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await rename(from, to)
  const folder = await open(dirname(to))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
