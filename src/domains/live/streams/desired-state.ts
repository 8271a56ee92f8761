import type { DesiredStream } from '../../../../media/types.ts'
import type { RecordGaps } from './record-gaps.ts'
import type { StreamStatus } from './state.ts'

/** What a media node is to do with a stream, and for whom it counts. */
export interface DesiredState {
  readonly stream: DesiredStream
  readonly workspaceId: string
  readonly ownerId: string
  readonly status: StreamStatus
  /** The broadcast under way. */
  readonly sessionId: string | null
  readonly ingestNode: string | null
  /** Where the publisher is pointed to. */
  readonly mediaNode: string | null
  /** What is shown while the publisher is away: a picture, by its key in the storage, or the card (null). */
  readonly slate?: { readonly key: string | null }
  /** The broadcast that is to be recorded, if it is. */
  readonly recordSession: string | null
  readonly recordGaps: RecordGaps
}
