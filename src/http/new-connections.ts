import { SECOND, type Clock } from '../core/clock.ts'

/** Limits of connections on which no request has arrived. */
export interface NewConnectionLimits {
  /** Per network, of connections older than `graceMs`. */
  readonly perNetwork: number
  /** Per network, of any age: as many as may arrive before the first of them is read. */
  readonly atOnce: number
  /** Of all networks, of connections older than `graceMs`. */
  readonly total: number
  readonly graceMs: number
  /** After this time the connection has sent a request or was closed by uWS. */
  readonly longestMs: number
}

const CHECK_EVERY_MS = SECOND

/**
 * Connections that have not sent the header of a request, by network. A client that sends a byte of it now and then
 * holds a connection until uWS closes it, so their number is limited: a network that has too many gets no further ones.
 *
 * uWS reports a new connection, but not on which connection a request arrived or which one has closed. So this counts:
 * a new connection adds one, a request from the same network takes away the oldest, and time takes away the others. A
 * client cannot gain much by many requests on one connection, because requests have rate limits, and those that are
 * refused for them close their connection (`mustClose`). A connection that closes without a request counts until its time
 * is over.
 */
export class NewConnections {
  readonly #limits: NewConnectionLimits
  readonly #clock: Clock
  readonly #onRefused: () => void
  /** When the connections of a network were opened, oldest first. */
  readonly #networks = new Map<string, number[]>()
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: NewConnectionLimits, clock: Clock, onRefused: () => void = () => undefined) {
    this.#limits = limits
    this.#clock = clock
    this.#onRefused = onRefused
  }

  /** How many connections have sent no request. */
  get count(): number {
    return this.#count
  }

  /** Counts a new connection. @returns false if it must be closed, because its network has too many */
  opened(network: string): boolean {
    const now = this.#clock.monotonic()
    const own = this.#networks.get(network)
    if (own !== undefined && this.#isFull(own, now)) {
      this.#onRefused()
      return false
    }
    if (own === undefined) this.#networks.set(network, [now])
    else own.push(now)
    this.#count += 1
    this.#timer ??= setInterval(() => this.#expire(), CHECK_EVERY_MS).unref()
    return true
  }

  /** A request arrived. Costs nothing while `count` is 0. */
  requested(network: string): void {
    const own = this.#networks.get(network)
    if (own === undefined) return
    own.shift()
    this.#removed(network, own, 1)
  }

  /** Whether a reply to a request that was refused for its rate must close the connection. */
  mustClose(network: string): boolean {
    return (this.#networks.get(network)?.length ?? 0) > this.#limits.perNetwork / 4
  }

  #isFull(own: readonly number[], now: number): boolean {
    const { atOnce, graceMs, perNetwork, total } = this.#limits
    if (own.length >= atOnce) return true
    const isOld = (at: number | undefined) => at !== undefined && now - at > graceMs
    // Oldest first, so one look tells whether there are so many old ones.
    if (isOld(own[perNetwork - 1])) return true
    // If all networks together have too many, none may have more than its share.
    return this.#count >= total && isOld(own[Math.floor(total / this.#networks.size)])
  }

  #expire(): void {
    const since = this.#clock.monotonic() - this.#limits.longestMs
    for (const [network, own] of this.#networks) {
      const kept = own.findIndex((at) => at > since)
      const expired = kept === -1 ? own.length : kept
      if (expired === 0) continue
      own.splice(0, expired)
      this.#removed(network, own, expired)
    }
  }

  #removed(network: string, own: readonly number[], removed: number): void {
    this.#count -= removed
    if (own.length === 0) this.#networks.delete(network)
    if (this.#count > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
