import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { networkOf } from '../core/client-address.ts'
import { SECOND, type Clock } from '../core/clock.ts'
import type { CutReason } from './transfers.ts'

/** Limits of connections that have not sent the header of their first request. */
export interface HeaderLimits {
  /** Per network; see `networkOf`. */
  readonly perNetwork: number
  readonly total: number
  /** Younger connections do not count, because a burst of new clients is no attack. */
  readonly graceMs: number
  /** When a header must be complete. */
  readonly deadlineMs: number
}

type OnData = (chunk: ArrayBuffer, isLast: boolean) => void

/** A connection without a complete header. */
interface Pending {
  readonly network: string
  readonly response: HttpResponse
  readonly since: number
  readonly take: OnData
  /** It may have sent a header, and then `response` may refer to memory that is no longer its own. It must not be used. */
  isUnsure: boolean
}

/** A request that may have come from one of these connections. */
interface Doubt {
  readonly pending: readonly Pending[]
  /** The first part of its body may arrive later than the header. */
  readonly isChunked: boolean
}

const CHECK_EVERY_MS = SECOND

/** uWS closes a connection without a complete header itself after 30 s, rounded up to 4 s. */
const GONE_MS = 40 * SECOND

/** New connections are refused when there are this many times as many as the limit, sure or not. */
const REFUSE_AT = 4

/**
 * Connections that send their header slowly or not at all. uWS closes them after 30 s, but has no limit of their number
 * and does not report bytes of a header. Its filter reports new connections, with a response object that belongs to no
 * request yet. On this object, `onAborted` reports that the connection has closed, and `onData` the end of the header:
 * directly after the handler of a request, uWS passes on the beginning of its body, even if it is empty.
 *
 * A handler that reads the body replaces that `onData`, and uWS does not say on which connection it runs. So `receive`
 * sets it again for all pending connections of the same address. If one of them is the connection, it gets the body and
 * passes it on. In some cases uWS passes nothing on: chunked bodies whose first part arrives later, lengths of zero,
 * wrong lengths, WebSockets. To use the object of a connection that has closed since would crash the process. So from
 * any request that has a body on, all connections of its address are unsure, until the data shows which one it was. What
 * is still unsure is left to uWS. It counts, so an address that causes doubts gets fewer connections.
 */
export class IncompleteHeaders {
  readonly #limits: HeaderLimits
  readonly #clock: Clock
  readonly #onCut: (reason: CutReason) => void
  /** By address, oldest first. */
  readonly #peers = new Map<string, Set<Pending>>()
  readonly #networks = new Map<string, number>()
  #count = 0
  #timer: NodeJS.Timeout | undefined
  #doubt: Doubt | undefined
  /** The receiver of the body that uWS passes on when the current handler returns. */
  #receiver: OnData | undefined

  constructor(limits: HeaderLimits, clock: Clock, onCut: (reason: CutReason) => void = () => undefined) {
    this.#limits = limits
    this.#clock = clock
    this.#onCut = onCut
  }

  get count(): number {
    return this.#count
  }

  /** Watches the new connections of an application. */
  watch(app: Pick<TemplatedApp, 'filter'>): void {
    app.filter((response, change) => {
      if ((change as number) > 0) this.#opened(response)
    })
  }

  /** Forgets all connections, because the application closes them. */
  stop(): void {
    for (const peer of this.#peers.keys()) for (const pending of this.#at(peer)) this.#forget(peer, pending)
  }

  #opened(response: HttpResponse): void {
    const peer = peerOf(response)
    const network = networkOf(peer)
    const { perNetwork, total } = this.#limits
    if (this.#count >= REFUSE_AT * total || (this.#networks.get(network) ?? 0) >= REFUSE_AT * perNetwork) {
      this.#onCut('crowded')
      response.close()
      return
    }
    let body: OnData | undefined
    const pending: Pending = {
      network,
      response,
      since: this.#clock.monotonic(),
      isUnsure: false,
      take: (chunk, isLast) => {
        if (this.#forget(peer, pending)) {
          body = this.#receiver
          if (this.#doubt?.pending.includes(pending)) this.#settle(this.#doubt)
        }
        this.#receiver = undefined
        body?.(chunk, isLast)
      },
    }
    this.#peers.set(peer, (this.#peers.get(peer) ?? new Set()).add(pending))
    this.#networks.set(network, (this.#networks.get(network) ?? 0) + 1)
    this.#count += 1
    response.onData(pending.take)
    response.onAborted(() => this.#forget(peer, pending))
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
  }

  /** A handler begins. Call it first, and before `receive`. */
  began(response: HttpResponse, request: HttpRequest): void {
    // What a handler before has expected did not arrive.
    this.#receiver = undefined
    this.#doubt = undefined
    if (this.#count === 0) return
    // After the header of a request without a body, uWS always passes on an empty one.
    const isChunked = request.getHeader('transfer-encoding') !== ''
    if (isChunked || request.getHeader('content-length') !== '') this.#doubt = this.#doubtAt(response, isChunked)
  }

  /** A connection is used in a way that cannot be followed. */
  lost(response: HttpResponse): void {
    this.#doubtAt(response, true)
    this.#doubt = undefined
  }

  /** Reads the body of a request. Call it in its handler. */
  receive(response: HttpResponse, receiver: OnData): void {
    if (this.#count > 0) this.#doubt ??= this.#doubtAt(response, false)
    const doubt = this.#doubt
    if (doubt === undefined || doubt.isChunked) {
      response.onData(receiver)
      return
    }
    this.#receiver = receiver
    response.onData((chunk, isLast) => {
      this.#receiver = undefined
      // None of the pending connections has got it.
      if (doubt === this.#doubt) this.#settle(doubt)
      receiver(chunk, isLast)
    })
    for (const pending of doubt.pending) pending.response.onData(pending.take)
  }

  #doubtAt(response: HttpResponse, isChunked: boolean): Doubt {
    const peer = peerOf(response)
    // It is empty if the connection has just been reset.
    const all = peer === '' ? [...this.#peers.keys()].flatMap((each) => this.#at(each)) : this.#at(peer)
    const pending = all.filter((one) => !one.isUnsure)
    for (const one of pending) one.isUnsure = true
    return { pending, isChunked }
  }

  #settle({ pending }: Doubt): void {
    for (const one of pending) one.isUnsure = false
    this.#doubt = undefined
  }

  #at(peer: string): Pending[] {
    return [...(this.#peers.get(peer) ?? [])]
  }

  /** @returns whether it was pending */
  #forget(peer: string, pending: Pending): boolean {
    const peers = this.#peers.get(peer)
    if (!peers?.delete(pending)) return false
    if (peers.size === 0) this.#peers.delete(peer)
    const left = (this.#networks.get(pending.network) ?? 1) - 1
    if (left === 0) this.#networks.delete(pending.network)
    else this.#networks.set(pending.network, left)
    this.#count -= 1
    if (this.#count === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    return true
  }

  #check(): void {
    const { deadlineMs, graceMs, perNetwork, total } = this.#limits
    const now = this.#clock.monotonic()
    const networks = new Map<string, Pending[]>()
    for (const peer of this.#peers.keys()) {
      for (const pending of this.#at(peer)) {
        const age = now - pending.since
        if (age > GONE_MS) this.#forget(peer, pending)
        else if (age > deadlineMs && !pending.isUnsure) this.#cut(pending, 'slow')
        else if (age > graceMs) {
          const waiting = networks.get(pending.network) ?? []
          networks.set(pending.network, waiting)
          waiting.push(pending)
        }
      }
    }
    let count = 0
    const largestFirst = [...networks.values()].toSorted((a, b) => b.length - a.length)
    for (const waiting of largestFirst) count += waiting.length - this.#cutOldest(waiting, waiting.length - perNetwork)
    for (const waiting of largestFirst) count -= this.#cutOldest(waiting, count - total)
  }

  /**
   * Closes some of these connections, and removes them from the list.
   * @returns how many
   */
  #cutOldest(waiting: Pending[], most: number): number {
    if (most <= 0) return 0
    const sure = waiting.filter(({ isUnsure }) => !isUnsure).toSorted((a, b) => a.since - b.since)
    const cut = sure.slice(0, most)
    for (const pending of cut) {
      waiting.splice(waiting.indexOf(pending), 1)
      this.#cut(pending, 'crowded')
    }
    return cut.length
  }

  /** uWS calls `onAborted` then. */
  #cut({ response }: Pending, reason: CutReason): void {
    this.#onCut(reason)
    response.close()
  }
}

/** The address of the other end of a connection, which may be a proxy; empty once it is closed. */
export function peerOf(response: Pick<HttpResponse, 'getRemoteAddressAsText'>): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
}
