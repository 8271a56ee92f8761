import type { ViewerLimits } from '../preview/viewers.ts'
import type { GopLimits } from './gop-cache.ts'
import type { OutputQueueLimits } from './output-queue.ts'
import type { ConnectionTimeouts } from './push-connection.ts'
import type { FailbackLimits } from './publisher-pair.ts'
import type { RetryLimits } from './retry-policy.ts'

/** Every bound and duration of the fan-out. Durations are milliseconds. */
export interface RelayLimits extends RetryLimits {
  readonly queue: OutputQueueLimits
  readonly gop: GopLimits
  readonly timeouts: ConnectionTimeouts
  /** A connection without progress for this long is reset if there is something to send. */
  readonly stallMs: number
  /** A key counts as working after a connection was live for this long. Some servers accept media and then close. */
  readonly provenMs: number
  /** After a connection was live for this long, the back-off starts again from the beginning. */
  readonly steadyMs: number
  /** A destination is congested until nothing was dropped for this long. */
  readonly recoverMs: number
  /**
   * How far behind the live edge an output may start. Platforms play media at the pace of its timestamps and never catch
   * up, so an older GOP is not replayed and the output starts with the next keyframe.
   */
  readonly maxBehindMs: number
  /** How long connections are kept without a publisher. */
  readonly holdMs: number
  /** After this long without a frame of the active publisher, the one on standby takes over. */
  readonly takeOverMs: number
  /** When the preferred publisher takes over again after it has failed. */
  readonly failback: FailbackLimits
  /** After this long without a frame, the slate is shown. Longer than `takeOverMs`, because a publisher is better. */
  readonly slateAfterMs: number
  /** How often health is checked and usage reported. */
  readonly tickMs: number
  readonly viewers: ViewerLimits
}

const QUEUE = { maxMs: 2_000, maxBytes: 4 * 1024 * 1024, maxAudioMs: 10_000 }

export const DEFAULT_RELAY_LIMITS: RelayLimits = {
  queue: QUEUE,
  viewers: { queue: QUEUE, maxViewers: 32, stallMs: 10_000 },
  gop: { maxBytes: 16 * 1024 * 1024, maxMessages: 8_192 },
  timeouts: { resolveMs: 5_000, connectMs: 5_000, handshakeMs: 5_000, publishMs: 10_000, closeMs: 2_000 },
  backoff: { baseMs: 500, maxMs: 30_000 },
  stallMs: 10_000,
  provenMs: 3_000,
  steadyMs: 10_000,
  recoverMs: 5_000,
  maxBehindMs: 2_000,
  holdMs: 60_000,
  takeOverMs: 1_000,
  failback: { steadyMs: 2_000, maxSteadyMs: 60_000, resetMs: 60_000 },
  slateAfterMs: 1_500,
  maxRejections: 3,
  maxEarlyCloses: 3,
  staleSessionMs: 10_000,
  maxStaleSessionMs: 30_000,
  tickMs: 1_000,
}
