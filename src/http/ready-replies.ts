import { gzipSync } from 'node:zlib'
import { limitClassOf } from '../core/limits.ts'
import type { NamedOperation } from '../core/operation.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { HttpExchange } from './exchange.ts'
import { WORTH_COMPRESSING } from './page.ts'

/** Requests of one operation whose replies are known. */
const MAX = 1_000
/** Longer requests are handled by the pipeline. */
const MAX_CHARACTERS = 300

/** A reply that is the same for everyone, with what a request needs of it as text. */
interface ReadyReply {
  readonly bytes: Uint8Array
  /** Headers after the first one: each begins with a line break. */
  readonly head: string
  /** The same compressed, if it is worth it. */
  readonly compressed?: { readonly bytes: Uint8Array; readonly head: string }
  readonly isFresh: () => boolean
}

/**
 * Replies of an operation with public content, by path and query as the client has written them. A request without
 * credentials gets the same bytes as the one before, so it needs no parsing, no validation and no handler.
 */
export class ReadyReplies {
  readonly #known = new Map<string, ReadyReply>()

  /** Undefined for an operation whose replies can differ between callers, or that counts requests. */
  static of(op: NamedOperation): ReadyReplies | undefined {
    const isPlain =
      op.method === 'GET' && op.access === 'public' && op.etag === true && limitClassOf(op) === 'none' && !op.before
    const asksMore = op.bearer ?? op.cookie ?? op.signature ?? op.languages ?? op.ticket ?? op.link ?? op.upload
    return isPlain && asksMore === undefined ? new ReadyReplies() : undefined
  }

  find({ headers, query }: HttpExchange, parameters: readonly string[]): ReadyReply | undefined {
    if (headers.authorization !== '' || headers.apiKey !== '') return undefined
    const found = this.#known.get(keyOf(query, parameters))
    if (found === undefined || found.isFresh()) return found
    // All replies are of the same content. They must not hold the old one in memory.
    this.#known.clear()
    return undefined
  }

  keep({ query }: HttpExchange, parameters: readonly string[], { body, headers, status }: Reply): void {
    if (status !== 200 || !(body instanceof RawBody) || body.caching === undefined) return
    const { control, etag, isFresh } = body.caching
    const key = keyOf(query, parameters)
    if (isFresh === undefined || key.length > MAX_CHARACTERS) return
    if (this.#known.size >= MAX) this.#known.clear()
    const all = { ...headers, ETag: `"${etag}"`, 'Cache-Control': control, 'Content-Type': body.contentType }
    const head = Object.entries(all)
      .map(([name, value]) => `\r\n${name}: ${value}`)
      .join('')
    const bytes = typeof body.content === 'string' ? Buffer.from(body.content) : body.content
    if (bytes.length < WORTH_COMPRESSING) this.#known.set(key, { bytes, head, isFresh })
    else {
      const varied = `${head}\r\nVary: Accept-Encoding`
      const compressed = { bytes: gzipSync(bytes), head: `${varied}\r\nContent-Encoding: gzip` }
      this.#known.set(key, { bytes, head: varied, compressed, isFresh })
    }
  }
}

/** A raw query contains no spaces, so the first space ends it. Decoded parameters can contain any character. */
function keyOf(query: string, parameters: readonly string[]): string {
  return parameters.length === 0 ? query : `${query} ${parameters.join(' ')}`
}
