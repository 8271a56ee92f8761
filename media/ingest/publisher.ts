import type { DestinationWithRules, WarningChanges } from '../doctor/stream-doctor.ts'
import type { DesiredStream, MediaMessage, MediaWarning } from '../types.ts'
import type { PublisherStats } from './ingest-meter.ts'

/** An admitted publisher. Its owner sets `onMessage` and `onEnd` in `onPublisher`, before anything is delivered. */
export interface Publisher {
  readonly sessionId: string
  /** Public part of the key. */
  readonly path: string
  readonly keyHash: string
  /** IP address, without the port. */
  readonly remoteAddress: string
  /** The stream that the host returned with its decision. */
  readonly stream: DesiredStream
  /** Whether the publisher announced video; false if the protocol cannot announce tracks. */
  readonly announcesVideo: boolean
  onMessage: (message: MediaMessage) => void
  /**
   * Called once with the reason: `unpublished`, `closed` (by the peer), `replaced` (by a newer publisher), `idle`,
   * `refused`, `protocol error`, `shutdown`, or the argument of {@link Publisher.drop}.
   */
  onEnd: (reason: string) => void
  /** Destroys the connection. Nothing is delivered after this. */
  drop(reason: string): void
  stats(): PublisherStats
  /** Updates the warnings and returns what has changed. To be called about once a second. */
  examine(destinations: readonly DestinationWithRules[]): WarningChanges
  /** Clears all warnings and returns those that were raised. */
  clearWarnings(): readonly MediaWarning[]
}
