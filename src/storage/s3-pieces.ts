import { Readable } from 'node:stream'
import { AppendGuard, uploadCancelled } from './append-guard.ts'
import type { PieceStore, StoredFile } from './storage.ts'

/** The part of the bucket that pieces need. */
interface Bucket {
  put(key: string, body: Readable, options: { readonly type: string }): Promise<StoredFile>
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | undefined>
  delete(key: string): Promise<void>
  /** The files with this prefix, in the order of their keys. */
  sizes(prefix: string): Promise<readonly { readonly key: string; readonly size: number }[]>
}

interface Piece {
  readonly key: string
  readonly offset: number
  readonly size: number
}

const TYPE = { type: 'application/octet-stream' }

/**
 * Uploads in pieces in a bucket. The bytes of each request are an object named by their offset, so that any node can
 * receive the next request. The sweep deletes pieces of unfinished uploads like other files without references.
 */
export class S3Pieces implements PieceStore {
  readonly #bucket: Bucket
  /** Guards this node only. Two nodes at the same offset overwrite each other with the same bytes. */
  readonly #guard = new AppendGuard()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async append(id: string, offset: number | undefined, body: AsyncIterable<Buffer>): Promise<number> {
    const length = () => this.length(id)
    const discard = () => this.discard(id)
    return this.#guard.run({ id, offset, length, discard }, async (start) => {
      let failure: unknown
      const sent = untilFailure(body, (error) => (failure = error))
      await this.#bucket.put(pieceKey(id, start), Readable.from(sent, { objectMode: false }), TYPE)
      if (failure !== undefined) throw failure
      return length()
    })
  }

  async length(id: string): Promise<number> {
    const last = (await this.#pieces(id)).at(-1)
    return last ? last.offset + last.size : 0
  }

  async finish(id: string, key: string): Promise<StoredFile> {
    const pieces = await this.#pieces(id)
    if (pieces.length === 0) throw uploadCancelled()
    return this.#bucket.put(key, Readable.from(this.#join(pieces), { objectMode: false }), TYPE)
  }

  async discard(id: string): Promise<void> {
    for (const { key } of await this.#bucket.sizes(prefixOf(id))) await this.#bucket.delete(key)
  }

  async *#join(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
    for (const { key, size } of pieces) {
      if (size === 0) continue
      const content = await this.#bucket.get(key, { start: 0, end: size - 1 })
      if (content === undefined) throw uploadCancelled()
      for await (const chunk of content as AsyncIterable<Buffer>) yield chunk
    }
  }

  /** The pieces up to the first gap. If two overlap, the first is cut where the second starts. */
  async #pieces(id: string): Promise<Piece[]> {
    const found = (await this.#bucket.sizes(prefixOf(id))).map(({ key, size }) => ({
      key,
      size,
      offset: offsetOf(key),
    }))
    const pieces: Piece[] = []
    for (const [index, piece] of found.entries()) {
      const next = found[index + 1]?.offset ?? Infinity
      const size = Math.min(piece.size, next - piece.offset)
      pieces.push({ ...piece, size })
      if (piece.offset + size < next) break
    }
    return pieces[0]?.offset === 0 ? pieces : []
  }
}

/** Passes on a body. A failure ends it and is reported, so that the bytes before the failure are stored. */
async function* untilFailure(body: AsyncIterable<Buffer>, onFailure: (error: unknown) => void): AsyncGenerator<Buffer> {
  try {
    // The S3 client reads ahead, so the block must be copied before its memory is reused.
    for await (const chunk of body) yield Buffer.from(chunk)
  } catch (error) {
    onFailure(error)
  }
}

/** No file has this id, so the sweep treats pieces that were left behind as unreferenced. */
const NO_FILE = '00000000-0000-0000-0000-000000000000'

function prefixOf(id: string): string {
  return `${id}/${NO_FILE}.piece-`
}

/** Offsets have leading zeros, so that keys sort by offset. */
function pieceKey(id: string, offset: number): string {
  return prefixOf(id) + String(offset).padStart(16, '0')
}

function offsetOf(key: string): number {
  return Number(key.slice(-16))
}
