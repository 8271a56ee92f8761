import { networkOf } from '../core/client-address.ts'
import { SECOND, type Clock } from '../core/clock.ts'
import type { RateDecision } from '../core/ports.ts'
import type { HttpMetrics } from './metrics.ts'
import { IncompleteHeaders } from './incomplete-headers.ts'
import { Transfers } from './transfers.ts'

/** Rate limits of a network on this node only. */
export interface NodeLimiter {
  take(limit: 'page' | 'bodiless', network: string): RateDecision
}

/** Connections that have not sent a header. Their bytes are unknown, so there is a deadline instead of a rate. */
const HEADERS = { perNetwork: 256, total: 1_024, graceMs: 2 * SECOND, deadlineMs: 10 * SECOND }

/** Bodies that are read as a whole. Each is at most as large as its operation allows. */
const BODIES = { perNetwork: 256, total: 1_024, graceMs: 10 * SECOND, bytesPerSecond: 2_000 }

/** Replies that their clients have not read yet. */
const REPLIES = { perNetwork: 256, total: 1_024, graceMs: 20 * SECOND, bytesPerSecond: 2_000 }

/** Limits of what clients can make the server hold before they are authenticated. */
export class ClientBounds {
  readonly headers: IncompleteHeaders
  readonly bodies: Transfers
  readonly replies: Transfers
  readonly #limiter: NodeLimiter

  /** @param proxied whether all connections come from a few proxies */
  constructor(clock: Clock, limiter: NodeLimiter, metrics: HttpMetrics, proxied: boolean) {
    this.#limiter = limiter
    const headers = proxied ? { ...HEADERS, perNetwork: HEADERS.total } : HEADERS
    this.headers = new IncompleteHeaders(headers, clock, (reason) => metrics.cut.inc({ what: 'header', reason }))
    this.bodies = new Transfers(BODIES, clock, (reason) => metrics.cut.inc({ what: 'body', reason }))
    this.replies = new Transfers(REPLIES, clock, (reason) => metrics.cut.inc({ what: 'reply', reason }))
    metrics.headers = () => this.headers.count
    metrics.bodies = () => this.bodies.count
    metrics.replies = () => this.replies.count
  }

  /** Takes a token for a page, or for a request refused before it reached an operation. */
  takePage(address: string): RateDecision {
    return this.#limiter.take('page', networkOf(address))
  }

  /**
   * Whether a reply without a body may be sent. uWS does not report whether the client has read earlier replies without
   * a body, as it does for replies with one, so these are counted instead.
   */
  allowsBodiless(address: string): boolean {
    return this.#limiter.take('bodiless', networkOf(address)).allowed
  }
}
