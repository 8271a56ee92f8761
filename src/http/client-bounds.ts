import type { HttpResponse } from 'uWebSockets.js'
import { networkOf } from '../tools/network-address.ts'
import { SECOND, type Clock } from '../core/clock.ts'
import type { RateDecision } from '../core/ports.ts'
import { BodyMemory } from './body-memory.ts'
import type { HttpMetrics } from './metrics.ts'
import { NewConnections } from './new-connections.ts'
import { Transfers } from './transfers.ts'

/** Rate limits of a network on this node only. */
export interface NodeLimiter {
  take(limit: 'page' | 'bodiless', network: string): RateDecision
}

/** Bodies that are read as a whole. Each is at most as large as its operation allows. */
const BODIES = { perNetwork: 256, total: 1_024, graceMs: 10 * SECOND, bytesPerSecond: 2_000 }

/** Replies that their clients have not read yet. */
const REPLIES = { perNetwork: 256, total: 1_024, graceMs: 20 * SECOND, bytesPerSecond: 2_000 }

/** Bodies that still arrive after their reply. nginx waits as long for them (`lingering_time`, `lingering_timeout`). */
const LEFTOVERS = { perNetwork: 256, total: 1_024, graceMs: 5 * SECOND, longestMs: 30 * SECOND, bytesPerSecond: 2_000 }

/**
 * Connections without a request. uWS closes them after 30 seconds. The kernel passes on up to 512 at a time (the backlog
 * of uWS), so more than those can be open before the first of them is read.
 */
const NEW_CONNECTIONS = { perNetwork: 256, atOnce: 1_024, total: 1_024, graceMs: 2 * SECOND, longestMs: 30 * SECOND }

/** Limits of what clients can make the server hold before they are authenticated. */
export class ClientBounds {
  readonly bodies: Transfers
  readonly bodyMemory = new BodyMemory()
  readonly replies: Transfers
  readonly leftovers: Transfers
  readonly newConnections: NewConnections
  readonly #limiter: NodeLimiter

  constructor(clock: Clock, limiter: NodeLimiter, metrics: HttpMetrics) {
    this.#limiter = limiter
    this.bodies = new Transfers(BODIES, clock, (reason) => metrics.cut.inc({ what: 'body', reason }))
    this.replies = new Transfers(REPLIES, clock, (reason) => metrics.cut.inc({ what: 'reply', reason }))
    this.leftovers = new Transfers(LEFTOVERS, clock, (reason) => metrics.cut.inc({ what: 'leftover', reason }))
    this.newConnections = new NewConnections(NEW_CONNECTIONS, clock, () =>
      metrics.cut.inc({ what: 'connection', reason: 'crowded' }),
    )
    metrics.newConnections = () => this.newConnections.count
    metrics.bodies = () => this.bodies.count
    metrics.replies = () => this.replies.count
  }

  /**
   * A connection was opened, and is closed if its network has too many. uWS's response may refer to freed memory later,
   * so it is not kept.
   */
  opened(response: HttpResponse): void {
    if (!this.newConnections.opened(networkOf(peerOf(response)))) response.close()
  }

  /** A request arrived. */
  requested(response: HttpResponse): void {
    if (this.newConnections.count > 0) this.newConnections.requested(networkOf(peerOf(response)))
  }

  /** Whether a reply of 429 must close its connection, which is still open. */
  mustClose(response: HttpResponse): boolean {
    return this.newConnections.count > 0 && this.newConnections.mustClose(networkOf(peerOf(response)))
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

/** The address of the other end of an open connection, which may be a proxy. */
export function peerOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1')
}
