import { open, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { AppendGuard, uploadCancelled } from './append-guard.ts'
import { FILE_MODE, makeFolder } from './disk-modes.ts'
import { missing, storageError } from './disk-errors.ts'
import type { PieceStore, StoredFile } from './storage.ts'

/** Uploads in pieces on disk: each is a file that requests append to. The bytes of an aborted request are kept. */
export class DiskPieces implements PieceStore {
  readonly #directory: string
  readonly #link: (from: string, key: string) => Promise<StoredFile>
  readonly #guard = new AppendGuard()

  constructor(directory: string, link: (from: string, key: string) => Promise<StoredFile>) {
    this.#directory = directory
    this.#link = link
  }

  async append(id: string, offset: number | undefined, body: AsyncIterable<Buffer>): Promise<number> {
    const path = this.#path(id)
    const length = () => this.length(id)
    const discard = () => this.discard(id)
    return this.#guard.run({ id, offset, length, discard }, async (start) => {
      try {
        await makeFolder(this.#directory)
        await this.#write(path, body)
        return await length()
      } catch (error) {
        const failure = storageError(error)
        // On a full disk, the bytes of the request are deleted, so that other requests can still write.
        if ((failure as { status?: number }).status === 507) await truncate(path, start).catch(missing)
        throw failure
      }
    })
  }

  /** Writes chunk by chunk, because a pipe discards its buffer when the sender disconnects. */
  async #write(path: string, body: AsyncIterable<Buffer>): Promise<void> {
    const file = await open(path, 'a', FILE_MODE)
    try {
      for await (const chunk of body) await file.appendFile(chunk)
    } finally {
      await file.sync()
      await file.close()
    }
  }

  async length(id: string): Promise<number> {
    return (await stat(this.#path(id)).catch(missing))?.size ?? 0
  }

  async finish(id: string, key: string): Promise<StoredFile> {
    const path = this.#path(id)
    if ((await stat(path).catch(missing)) === undefined) throw uploadCancelled()
    return this.#link(path, key)
  }

  async discard(id: string): Promise<void> {
    await rm(this.#path(id), { force: true })
  }

  #path(id: string): string {
    if (!/^[0-9a-f-]{36}$/.test(id)) throw new Error(`not an upload id: ${JSON.stringify(id)}`)
    return join(this.#directory, id)
  }
}
