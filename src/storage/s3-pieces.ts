import { Readable } from 'node:stream'
import { AppendGuard, dropped } from './append-guard.ts'
import type { PieceStore, StoredFile } from './storage.ts'

/** What pieces need of a bucket. */
interface Bucket {
  put(key: string, body: Readable, options: { readonly type: string }): Promise<StoredFile>
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | undefined>
  delete(key: string): Promise<void>
  /** Files whose keys begin so, in the order of their keys. */
  sizes(prefix: string): Promise<readonly { readonly key: string; readonly size: number }[]>
}

interface Piece {
  readonly key: string
  readonly offset: number
  readonly size: number
}

const TYPE = { type: 'application/octet-stream' }

/**
 * Files that arrive in pieces, in a bucket: what each request brought is an object of its own, named by its offset, so
 * that every node can go on with the next one. What nobody finished is swept as files are that nothing refers to.
 */
export class S3Pieces implements PieceStore {
  readonly #bucket: Bucket
  /** Of this node: two nodes at one offset overwrite each other with the same. */
  readonly #guard = new AppendGuard()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  async append(id: string, offset: number | undefined, body: AsyncIterable<Buffer>): Promise<number> {
    const length = () => this.length(id)
    const discard = () => this.discard(id)
    return this.#guard.run({ id, offset, length, discard }, async (start) => {
      let failure: unknown
      const sent = asFarAsItCame(body, (error) => (failure = error))
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
    if (pieces.length === 0) throw dropped()
    return this.#bucket.put(key, Readable.from(this.#join(pieces), { objectMode: false }), TYPE)
  }

  async discard(id: string): Promise<void> {
    for (const { key } of await this.#bucket.sizes(prefixOf(id))) await this.#bucket.delete(key)
  }

  async *#join(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
    for (const { key, size } of pieces) {
      if (size === 0) continue
      const content = await this.#bucket.get(key, { start: 0, end: size - 1 })
      if (content === undefined) throw dropped()
      for await (const chunk of content as AsyncIterable<Buffer>) yield chunk
    }
  }

  /** Pieces without a gap; where two overlap, the first ends where the second begins. */
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

/** A body as far as it came: what a cut request brought is kept, and the cut told afterwards. */
async function* asFarAsItCame(body: AsyncIterable<Buffer>, cut: (error: unknown) => void): AsyncGenerator<Buffer> {
  try {
    // A stream reads on before the piece is sent.
    for await (const chunk of body) yield Buffer.from(chunk)
  } catch (error) {
    cut(error)
  }
}

/** No file has this id, so that pieces which were left behind look like what they are to the sweep. */
const NO_FILE = '00000000-0000-0000-0000-000000000000'

function prefixOf(id: string): string {
  return `${id}/${NO_FILE}.piece-`
}

/** Offsets have all digits, so that the names sort as the numbers do. */
function pieceKey(id: string, offset: number): string {
  return prefixOf(id) + String(offset).padStart(16, '0')
}

function offsetOf(key: string): number {
  return Number(key.slice(-16))
}
