import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
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
  readonly peer: string
  readonly network: string
  readonly response: HttpResponse
  readonly since: number
  readonly take: OnData
  /** Whether it may have become another request's or a WebSocket, whose memory `response` must not be used for. */
  isUnsure: boolean
}

const CHECK_EVERY_MS = SECOND

/** uWS closes a connection without a complete header itself after 30 s, rounded up to 4 s. */
const GONE_MS = 40 * SECOND

/**
 * Connections that send their header slowly or not at all. uWS closes them after 30 s, but has no limit of their number,
 * and does not report bytes of a header. Its filter reports new connections, with a response object that belongs to no
 * request yet. On this object, `onAborted` reports that the connection has closed, and `onData` the end of the header:
 * after the handler of a request, uWS passes its body on, even if it is empty.
 *
 * A handler that reads the body replaces this `onData`, and uWS does not say on which connection it runs. So it calls
 * `replaced`, which sets those of all pending connections of the same address again. One of them may be that connection,
 * and then gets the body and passes it on. Where that is impossible (chunked bodies, whose first part may arrive later,
 * and WebSockets, which move to another object), the connections of the address are unsure from then on: they count until
 * uWS has closed them, but are not closed here.
 */
export class IncompleteHeaders {
  readonly #limits: HeaderLimits
  readonly #clock: Clock
  readonly #onCut: (reason: CutReason) => void
  /** By address, oldest first. */
  readonly #peers = new Map<string, Set<Pending>>()
  #count = 0
  #timer: NodeJS.Timeout | undefined
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
      if ((change as number) > 0) this.opened(response)
    })
  }

  /** A new connection. @param response the one that uWS passes to its filter */
  opened(response: HttpResponse): void {
    const peer = peerOf(response)
    let body: OnData | undefined
    const pending: Pending = {
      peer,
      network: networkOf(peer),
      response,
      since: this.#clock.monotonic(),
      isUnsure: false,
      take: (chunk, isLast) => {
        if (this.#forget(pending)) body = this.#receiver
        this.#receiver = undefined
        body?.(chunk, isLast)
      },
    }
    const peers = this.#peers.get(peer) ?? new Set()
    this.#peers.set(peer, peers.add(pending))
    this.#count += 1
    response.onData(pending.take)
    response.onAborted(() => this.#forget(pending))
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
  }

  /** Called at the start of each handler: whatever a handler before it expected can no longer arrive. */
  begun(): void {
    this.#receiver = undefined
  }

  /**
   * Reads a body. Call it in the handler of its request.
   * @param isChunked whether the first part of the body may arrive later than the header
   */
  receive(response: HttpResponse, peer: string, isChunked: boolean, receiver: OnData): void {
    const pending = this.#peers.get(peer)
    if (pending === undefined) {
      response.onData(receiver)
      return
    }
    if (isChunked) {
      this.unsure(peer)
      response.onData(receiver)
      return
    }
    this.#receiver = receiver
    response.onData((chunk, isLast) => {
      this.#receiver = undefined
      receiver(chunk, isLast)
    })
    for (const one of pending) if (!one.isUnsure) one.response.onData(one.take)
  }

  /** One of the connections from this address is used in a way that cannot be followed. */
  unsure(peer: string): void {
    for (const pending of this.#peers.get(peer) ?? []) pending.isUnsure = true
  }

  /** @returns whether it was pending */
  #forget(pending: Pending): boolean {
    const peers = this.#peers.get(pending.peer)
    if (!peers?.delete(pending)) return false
    this.#count -= 1
    if (peers.size === 0) this.#peers.delete(pending.peer)
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
    for (const pending of [...this.#peers.values()].flatMap((peers) => [...peers])) {
      const age = now - pending.since
      if (pending.isUnsure && age > GONE_MS) this.#forget(pending)
      else if (!pending.isUnsure && age > deadlineMs) this.#cut(pending, 'slow')
      else if (age > graceMs) {
        const waiting = networks.get(pending.network) ?? []
        waiting.push(pending)
        networks.set(pending.network, waiting)
      }
    }
    for (const waiting of networks.values()) this.#cutOldest(waiting, waiting.length - perNetwork)
    const sizes = [...networks.values()].toSorted((a, b) => b.length - a.length)
    let left = sizes.reduce((sum, waiting) => sum + Math.min(waiting.length, perNetwork), 0)
    for (const waiting of sizes) {
      if (left <= total) break
      left -= this.#cutOldest(waiting, left - total)
    }
  }

  /** @returns how many were closed */
  #cutOldest(waiting: readonly Pending[], count: number): number {
    if (count <= 0) return 0
    const oldest = waiting.filter((pending) => !pending.isUnsure && this.#peers.get(pending.peer)?.has(pending))
    const cut = oldest.toSorted((a, b) => a.since - b.since).slice(0, count)
    for (const pending of cut) this.#cut(pending, 'crowded')
    return cut.length
  }

  #cut(pending: Pending, reason: CutReason): void {
    this.#forget(pending)
    this.#onCut(reason)
    pending.response.close()
  }
}

/** The address of the other end of a connection, which may be a proxy. */
export function peerOf(response: Pick<HttpResponse, 'getRemoteAddressAsText'>): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
}
