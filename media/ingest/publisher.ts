import type { Diagnosis, Patient } from '../doctor/stream-doctor.ts'
import type { DesiredStream, MediaMessage, MediaWarning } from '../types.ts'
import type { PublisherStats } from './ingest-meter.ts'

/** An admitted publisher. Its owner sets `onMessage` and `onEnd` inside `onPublisher`, before anything is delivered. */
export interface Publisher {
  readonly sessionId: string
  /** Public part of the key. */
  readonly path: string
  readonly keyHash: string
  /** IP address, without the port. */
  readonly remoteAddress: string
  /** What the decision said of the stream. */
  readonly stream: DesiredStream
  /** Whether it has said that it sends pictures; false where the protocol has no word for that. */
  readonly announcesVideo: boolean
  onMessage: (message: MediaMessage) => void
  /**
   * Called once, whoever ended it: `unpublished`, `closed` (by the peer), `replaced` (by a newer publisher), `idle`,
   * `protocol error`, `shutdown`, or what {@link Publisher.drop} was given.
   */
  onEnd: (reason: string) => void
  /** Ends it now: the socket is destroyed whatever the peer does, and nothing it sent is delivered any more. */
  drop(reason: string): void
  stats(): PublisherStats
  /** Looks at what came in since the last look; to be called about once a second. */
  examine(patients: readonly Patient[]): Diagnosis
  /** Forgets what was found; returns what had been told. */
  dismiss(): readonly MediaWarning[]
}
