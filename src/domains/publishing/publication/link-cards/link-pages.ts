import { SECOND } from '../../../../core/clock.ts'
import type { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { plainCard, type CardPicture, type LinkCard, type LinkPages } from '../../../../platforms/link-card.ts'
import { Room } from '../attempts/room.ts'
import { pageMeta } from './page-meta.ts'

const PAGE_BYTES = 1_000_000
const PICTURE_BYTES = 5_000_000
interface Times {
  /** For a page or a picture, with its redirects. Milliseconds. */
  readonly fetchMs: number
  /** How long one waits for others. A post goes without rather than late. */
  readonly waitMs: number
}

const TIMES: Times = { fetchMs: 5 * SECOND, waitMs: 5 * SECOND }
/** Pages and pictures that a node reads at the same time. */
const AT_ONCE = 16
const PICTURE_TYPES = /^image\/(?:jpeg|png|webp|gif|avif)\b/i

/** Makes a picture anew as JPEG, with at most this many bytes; undefined if that is not possible. */
export type Shrink = (
  bytes: Buffer,
  mostBytes: number,
  signal: AbortSignal | undefined,
) => Promise<CardPicture | undefined>

/** Reads pages and pictures of any server, with bounds. Addresses within this network are refused. */
export class GuardedLinkPages implements LinkPages {
  readonly #fetcher: Pick<GuardedFetcher, 'get'>
  readonly #shrink: Shrink
  readonly #times: Times
  readonly #room = new Room(AT_ONCE)

  constructor(fetcher: Pick<GuardedFetcher, 'get'>, shrink: Shrink, times = TIMES) {
    this.#fetcher = fetcher
    this.#shrink = shrink
    this.#times = times
  }

  async card(url: string, signal?: AbortSignal): Promise<LinkCard> {
    const found = await this.#tried(async () => {
      const page = await this.#get(url, { accept: 'text/html,application/xhtml+xml', maxBytes: PAGE_BYTES, signal })
      const isHtml = /^(?:text\/html|application\/xhtml\+xml)\b/i.test(page.contentType)
      return isSuccess(page.status) && isHtml ? pageMeta(page) : undefined
    }, signal)
    return { ...plainCard(url), ...found }
  }

  picture(url: string, mostBytes: number, signal?: AbortSignal): Promise<CardPicture | undefined> {
    return this.#tried(async () => {
      const file = await this.#get(url, { accept: 'image/*', maxBytes: PICTURE_BYTES, signal })
      if (!isSuccess(file.status) || !file.complete || !PICTURE_TYPES.test(file.contentType)) return undefined
      return this.#shrink(file.bytes, mostBytes, signal)
    }, signal)
  }

  #get(
    url: string,
    { accept, maxBytes, signal }: { accept: string; maxBytes: number; signal: AbortSignal | undefined },
  ) {
    const headers = { 'User-Agent': 'Crier/0.1 (link card)', Accept: accept }
    return this.#fetcher.get(url, { headers, maxBytes, timeoutMs: this.#times.fetchMs, ...(signal && { signal }) })
  }

  /** The result, or undefined if there is none in time. A server that shuts down must not look like such a page. */
  async #tried<T>(work: () => Promise<T | undefined>, signal: AbortSignal | undefined): Promise<T | undefined> {
    if (!(await this.#enter())) return undefined
    try {
      return await work()
    } catch {
      signal?.throwIfAborted()
      return undefined
    } finally {
      this.#room.give(1)
    }
  }

  /** Waits for a place. @returns false if none became free in time */
  async #enter(): Promise<boolean> {
    const wait = { isOver: false }
    const late = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => {
      wait.isOver = true
      late.resolve(false)
    }, this.#times.waitMs)
    const entered = this.#room.take(1).then(() => {
      // A place that comes too late goes to the next one.
      if (wait.isOver) this.#room.give(1)
      clearTimeout(timer)
      return !wait.isOver
    })
    return Promise.race([entered, late.promise])
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
