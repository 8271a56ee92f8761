import type { DesiredStream } from '../../../../media/types.ts'
import type { RecordGaps } from './record-gaps.ts'
import type { StreamStatus } from './state.ts'

/** The desired state of a stream on a media node, and the owner whose plan it counts against. */
export interface DesiredState {
  readonly stream: DesiredStream
  readonly workspaceId: string
  readonly ownerId: string
  readonly status: StreamStatus
  /** The current session. */
  readonly sessionId: string | null
  readonly ingestNode: string | null
  /** The node that publishers are sent to. */
  readonly mediaNode: string | null
  /** What is shown while the publisher is away: a picture, by its key in the storage, or the card (null). */
  readonly slate?: { readonly key: string | null }
  /** The session to record; null if recording is off. */
  readonly recordSession: string | null
  readonly recordGaps: RecordGaps
}
