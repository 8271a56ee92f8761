import type { ViewerLimits } from '../preview/viewers.ts'
import type { BackoffLimits } from './backoff.ts'
import type { GroupCacheLimits } from './group-cache.ts'
import type { OutputQueueLimits } from './output-queue.ts'
import type { ConnectionTimeouts } from './push-connection.ts'

/** Every bound and duration of the fan-out. Durations are milliseconds. */
export interface RelayLimits {
  readonly queue: OutputQueueLimits
  readonly group: GroupCacheLimits
  readonly timeouts: ConnectionTimeouts
  readonly backoff: BackoffLimits
  /** Without progress for this long while something is to be sent, a connection is reset. */
  readonly stallMs: number
  /** A connection that was live for this long starts the back-off anew. */
  readonly steadyMs: number
  /** A destination is congested until nothing was left out for this long. */
  readonly recoverMs: number
  /** How long connections are kept without a publisher. */
  readonly holdMs: number
  /** After this long without a frame, a publisher that stands by takes over from the one that feeds the stream. */
  readonly takeOverMs: number
  /** After this long without a frame, the slate is shown; later than a take-over, which is better. */
  readonly slateAfterMs: number
  /** Refusals before a person has to look. */
  readonly maxRejections: number
  /**
   * A platform may refuse a key for as long as it thinks that the broken connection before still publishes. After a
   * refusal of a key that has worked, the next attempt waits this long, times the refusals so far.
   */
  readonly staleSessionMs: number
  /** How often health is looked at and usage reported. */
  readonly tickMs: number
  readonly viewers: ViewerLimits
}

const QUEUE = { maxMs: 2_000, maxBytes: 4 * 1024 * 1024, maxAudioMs: 10_000 }

export const DEFAULT_RELAY_LIMITS: RelayLimits = {
  queue: QUEUE,
  viewers: { queue: QUEUE, maxViewers: 32, stallMs: 10_000 },
  group: { maxBytes: 16 * 1024 * 1024, maxMessages: 8_192 },
  timeouts: { resolveMs: 5_000, connectMs: 5_000, handshakeMs: 5_000, publishMs: 10_000, closeMs: 2_000 },
  backoff: { baseMs: 500, maxMs: 30_000 },
  stallMs: 10_000,
  steadyMs: 10_000,
  recoverMs: 5_000,
  holdMs: 60_000,
  takeOverMs: 1_000,
  slateAfterMs: 1_500,
  maxRejections: 3,
  staleSessionMs: 10_000,
  tickMs: 1_000,
}
