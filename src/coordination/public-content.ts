import { createHash } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import { RawBody } from '../core/reply.ts'
import type { Coordination } from './coordination.ts'

/** How long a node uses what it has read, in case a notice was lost while the connection was up. */
const KEEP_MS = 30_000
/** Bytes of replies that a node keeps for one kind of content. */
const MAX_BYTES = 32_000_000
/** Proxies and browsers ask again after a minute, and may use the old reply while they do. */
const CACHE_CONTROL = 'public, max-age=60, stale-while-revalidate=60'

/** What `load` returns. */
export interface LoadedContent<T> {
  readonly value: T
  /** When it must be read again, in milliseconds: the time of the next publication. */
  readonly until?: number | undefined
}

export interface PublicContentOptions<T> {
  /** The channel of the notices. */
  readonly name: string
  readonly coordination: Coordination
  readonly clock: Clock
  readonly load: () => Promise<LoadedContent<T>>
}

/**
 * Content that everyone sees, such as the posts of a blog. Each node keeps it in memory, with the bytes of the replies
 * that were made from it, until a notice reports a change or something else becomes public.
 */
export class PublicContent<T> {
  readonly #options: PublicContentOptions<T>
  readonly #ends: (() => void)[]
  #edition: { readonly edition: Edition<T>; readonly expiresAt: number; readonly until: number } | undefined
  #loading: { readonly generation: number; readonly promise: Promise<Edition<T>> } | undefined
  /** Incremented by every change, so that content that was being read at the time is not cached. */
  #generation = 0

  constructor(options: PublicContentOptions<T>) {
    this.#options = options
    const { coordination, name } = options
    const forget = () => {
      this.#generation += 1
      this.#edition = undefined
    }
    this.#ends = [coordination.subscribe(name, forget), coordination.onRecovered(forget)]
  }

  /** What is public now. Returned at once if it is in memory. */
  read(): Edition<T> | Promise<Edition<T>> {
    const kept = this.#edition
    if (kept && this.#isFresh(kept.edition)) return kept.edition
    if (this.#loading?.generation !== this.#generation) {
      const generation = this.#generation
      const promise = this.#load(generation).finally(() => {
        if (this.#loading?.promise === promise) this.#loading = undefined
      })
      this.#loading = { generation, promise }
    }
    return this.#loading.promise
  }

  /** Makes all nodes read the content again. To be called after the commit of a change. */
  changed(): void {
    this.#options.coordination.publish(this.#options.name, {})
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  /** Whether a node may still use what it has read. */
  #isFresh(edition: Edition<T>): boolean {
    const { clock, coordination } = this.#options
    const kept = this.#edition
    if (kept?.edition !== edition) return false
    return kept.expiresAt > clock.monotonic() && kept.until > clock.now() && coordination.linked
  }

  async #load(generation: number): Promise<Edition<T>> {
    const { clock, load } = this.#options
    const { until = Number.POSITIVE_INFINITY, value } = await load()
    const edition: Edition<T> = new Edition(value, () => this.#isFresh(edition))
    if (generation === this.#generation) {
      this.#edition = { edition, until, expiresAt: clock.monotonic() + KEEP_MS }
    }
    return edition
  }
}

/** The content at one time, with the replies that were made from it. */
export class Edition<T> {
  readonly value: T
  readonly #isFresh: () => boolean
  readonly #replies = new Map<string, RawBody>()
  #bytes = 0

  constructor(value: T, isFresh: () => boolean) {
    this.value = value
    this.#isFresh = isFresh
  }

  /** The reply that was kept under a key. */
  kept(key: string): RawBody | undefined {
    return this.#replies.get(key)
  }

  /** Makes a reply of text or JSON, and keeps it under a key. */
  keep(key: string, content: string | object, contentType = 'application/json'): RawBody {
    const bytes = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
    const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    const body = new RawBody(contentType, bytes, { etag, control: CACHE_CONTROL, isFresh: this.#isFresh })
    // A long query is a long key.
    const size = bytes.length + key.length
    if (this.#bytes + size > MAX_BYTES) {
      this.#replies.clear()
      this.#bytes = 0
    }
    this.#replies.set(key, body)
    this.#bytes += size
    return body
  }
}
