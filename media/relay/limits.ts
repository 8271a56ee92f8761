import type { ViewerLimits } from '../preview/viewers.ts'
import type { GroupCacheLimits } from './group-cache.ts'
import type { OutputQueueLimits } from './output-queue.ts'
import type { ConnectionTimeouts } from './push-connection.ts'
import type { ReturnLimits } from './publisher-pair.ts'
import type { RetryLimits } from './retry-policy.ts'

/** Every bound and duration of the fan-out. Durations are milliseconds. */
export interface RelayLimits extends RetryLimits {
  readonly queue: OutputQueueLimits
  readonly group: GroupCacheLimits
  readonly timeouts: ConnectionTimeouts
  /** Without progress for this long while something is to be sent, a connection is reset. */
  readonly stallMs: number
  /** A key is known to work when a connection with it was live for this long: some servers take media, then close. */
  readonly provenMs: number
  /** A connection that was live for this long starts the back-off anew. */
  readonly steadyMs: number
  /** A destination is congested until nothing was left out for this long. */
  readonly recoverMs: number
  /**
   * How far behind the live edge an output may start. Platforms play what they get at its pace and never catch up, so an
   * older group of pictures is not replayed: the output starts with the next keyframe.
   */
  readonly mostBehindMs: number
  /** How long connections are kept without media of a publisher. */
  readonly holdMs: number
  /** After this long without a frame, a publisher that stands by takes over from the one that feeds the stream. */
  readonly takeOverMs: number
  /** When the preferred publisher takes over again after it has failed. */
  readonly returns: ReturnLimits
  /** After this long without a frame, the slate is shown; later than a take-over, which is better. */
  readonly slateAfterMs: number
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
  provenMs: 3_000,
  steadyMs: 10_000,
  recoverMs: 5_000,
  mostBehindMs: 2_000,
  holdMs: 60_000,
  takeOverMs: 1_000,
  returns: { steadyMs: 2_000, longestMs: 60_000, forgiveMs: 60_000 },
  slateAfterMs: 1_500,
  maxRejections: 3,
  maxEarlyCloses: 3,
  staleSessionMs: 10_000,
  maxStaleSessionMs: 30_000,
  tickMs: 1_000,
}
