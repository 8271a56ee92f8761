import type { RtmpsSettings } from '../ingest/rtmp-ingest.ts'
import type { MediaNodeLimits } from '../node.ts'
import type { PreviewSettings } from '../preview/preview-server.ts'
import type {
  DesiredStream,
  MediaEvent,
  MediaLog,
  MediaNodeStatus,
  PublishDecision,
  PublishRequest,
  WhipReply,
  WhipRequest,
  WhipSettings,
} from '../types.ts'

/** Settings of the media process. Sent as its first message, so that they are in neither its arguments nor its environment. */
export interface MediaProcessSettings {
  readonly host: string
  readonly port: number
  readonly allowPrivateAddresses: boolean
  readonly limits?: MediaNodeLimits
  /** See `MediaNodeSettings`. For tests. */
  readonly destinationCa?: string
  readonly rtmps?: RtmpsSettings
  readonly preview?: PreviewSettings
  readonly whip?: WhipSettings
}

/** From the host to the media process. A reply carries the id of its request. */
export type HostMessage =
  | { readonly type: 'start'; readonly settings: MediaProcessSettings }
  | { readonly type: 'apply'; readonly stream: DesiredStream }
  | { readonly type: 'remove'; readonly streamId: string }
  | { readonly type: 'retry'; readonly streamId: string; readonly destinationId: string }
  | { readonly type: 'status'; readonly id: number }
  /** `decision` is null when the host could not decide. */
  | { readonly type: 'decision'; readonly id: number; readonly decision: PublishDecision | null }
  | { readonly type: 'whip'; readonly id: number; readonly request: WhipRequest }
  /** Answered with `pong` unless the event loop is blocked. */
  | { readonly type: 'ping' }
  | { readonly type: 'close' }

/** From the media process to its host. */
export type ProcessMessage =
  | { readonly type: 'ready'; readonly port: number; readonly whipPort: number | null }
  /** The process could not start and exits. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'pong' }
  | { readonly type: 'event'; readonly event: MediaEvent }
  | { readonly type: 'log'; readonly level: keyof MediaLog; readonly fields: object; readonly message: string }
  | { readonly type: 'authorize'; readonly id: number; readonly request: PublishRequest }
  | { readonly type: 'status'; readonly id: number; readonly status: MediaNodeStatus }
  | { readonly type: 'whip'; readonly id: number; readonly reply: WhipReply }
