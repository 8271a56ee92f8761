/**
 * The messages between a host (the API process, a test, a benchmark) and a media node. Each is plain data, so it can
 * cross a process boundary unchanged.
 */

import type { Destination, DestinationStatus, RenderingStatus } from './destination-types.ts'
import type { DesiredPlayout, DesiredRecording, PlayoutEvent, PlayoutPosition, RecordingEvent } from './file-types.ts'

export type {
  Destination,
  DestinationFault,
  DestinationRules,
  DestinationState,
  DestinationStatus,
  Rendering,
  RenderingStatus,
} from './destination-types.ts'
export type { DesiredPlayout, DesiredRecording, PlayoutPosition } from './file-types.ts'

/** RTMP message types that carry media (RTMP 1.0, section 7.1). */
export type MediaKind = 'audio' | 'video' | 'data'

/**
 * One coded media message of a live source. `payload` is the RTMP message body (FLV tag body). All consumers share it, so
 * nothing may write to it.
 */
export interface MediaMessage {
  readonly kind: MediaKind
  /** Milliseconds on the source's timeline. It does not wrap at 32 bits and never goes back. */
  readonly timestamp: number
  readonly payload: Buffer
  /** A decoder configuration record or the onMetaData object. Cached and replayed to outputs that join later. */
  readonly isSequenceHeader: boolean
  /** A video message that starts a closed GOP. */
  readonly isKeyframe: boolean
  /** Part of the slate. Recordings leave it out unless they are configured to keep it. */
  readonly isSlate?: true
}

/** The slate: what destinations see while the publisher is away. */
export interface DesiredSlate {
  /** Path of a picture on this machine; absent for a plain card. */
  readonly picture?: string
}

export interface SlateStatus {
  /**
   * `waiting`: for a publisher whose format it copies. `ready`: can be shown. `unavailable`: connections are kept without
   * media during the hold, for the reason in `reason`.
   */
  readonly state: 'waiting' | 'preparing' | 'ready' | 'shown' | 'unavailable'
  readonly reason: string | null
}

export interface PreferredInput {
  readonly source: 'primary' | 'backup'
  /** Whether a user selected it. Then it takes over at once, without proving to be steady first. */
  readonly selected: boolean
}

/** The desired state of a stream on this node. Applying the same state twice changes nothing. */
export interface DesiredStream {
  readonly streamId: string
  /** Public part of the ingest key. The only form in which a key may appear in logs, events and metrics. */
  readonly path: string
  /** Lower-case hex SHA-256 of the ingest key (`<path>-<secret>`). A publisher that was admitted with another key is dropped. */
  readonly keyHash: string
  /** The key of a second publisher, which is on standby. */
  readonly backup?: { readonly path: string; readonly keyHash: string }
  /** Hash of the WHIP token. A publisher with it counts as the one with the primary key. */
  readonly whipHash?: string
  /** Whether media is relayed to the destinations. False: ingest only. */
  readonly live: boolean
  readonly destinations: readonly Destination[]
  /** Absent when no file is played. */
  readonly playout?: DesiredPlayout
  /** Absent when nothing is recorded. */
  readonly recording?: DesiredRecording
  /** Absent when there is no slate. */
  readonly slate?: DesiredSlate
  /** Which publisher feeds the stream while both send. Absent: the active one stays until it fails. */
  readonly preferredInput?: PreferredInput
  /** How long connections are kept without a publisher, milliseconds. The node's limit when absent. */
  readonly holdMs?: number
}

/** A publisher that wants to send media. Authorized before `NetStream.Publish.Start`. */
export interface PublishRequest {
  /** Public part of the key. */
  readonly path: string
  /** Lower-case hex SHA-256 of the key that the publisher sent. */
  readonly keyHash: string
  readonly remoteAddress: string
  /** Set when `keyHash` belongs to a WHIP token, which is not an RTMP key. */
  readonly via?: 'whip'
}

export type PublishDecision =
  | { readonly allowed: true; readonly stream: DesiredStream }
  /** `later`: the key is valid, but cannot be used now. */
  | { readonly allowed: false; readonly reason: string; readonly later?: true }

export type WarningCode =
  | 'video_missing'
  | 'audio_missing'
  | 'video_codec'
  | 'audio_codec'
  | 'pixel_format'
  | 'audio_channels'
  | 'keyframe_missing'
  | 'keyframe_interval'
  | 'frame_rate_varies'
  | 'bitrate'
  | 'clock_drift'
  | 'audio_offset'
  | 'timestamps_forward'
  | 'timestamps_back'
  | 'resolution_changed'
  | 'key_contested'

/** A problem with the media of a publisher. */
export interface MediaWarning {
  /** Stable, for programs. */
  readonly code: WarningCode
  /** The destination that does not accept the media. Null when the problem concerns all of them. */
  readonly destinationId: string | null
  readonly message: string
  /** ISO 8601: when it was first reported. */
  readonly since: string
}

/** The media that a publisher sends. Fields that are not known yet are null. */
export interface IngestStatus {
  readonly sessionId: string
  /** The key that it was admitted with. `file` for playout. */
  readonly source: 'primary' | 'backup' | 'file'
  readonly since: string
  readonly remoteAddress: string
  readonly videoCodec: string | null
  readonly audioCodec: string | null
  readonly width: number | null
  readonly height: number | null
  readonly fps: number | null
  /** Bits per second over the last few seconds. */
  readonly bitrate: number
  readonly bytesReceived: number
  readonly keyframeIntervalSeconds: number | null
  readonly uptimeSeconds: number
  /** Problems that concern all destinations, and those of single destinations. */
  readonly warnings: readonly MediaWarning[]
}

export interface StreamStatus {
  readonly streamId: string
  readonly path: string
  readonly live: boolean
  readonly ingest: IngestStatus | null
  /** The publisher on standby. Its media is not relayed. */
  readonly standby: IngestStatus | null
  readonly destinations: readonly (DestinationStatus & { readonly rendering: RenderingStatus | null })[]
  /** Null when no file is played. */
  readonly playout: (PlayoutPosition & { readonly id: string; readonly paused: boolean }) | null
  /** The current file, and why some of the media is not recorded. Null when nothing is recorded. */
  readonly recording: { readonly bytes: number; readonly seconds: number; readonly refused: string | null } | null
  /** Milliseconds of received media while live, since this node first had the stream. Never decreases. */
  readonly liveMs: number
  /** Current viewers of the preview. */
  readonly viewers: number
  /** Null without a slate. */
  readonly slate: SlateStatus | null
}

/** What a node reports to its host, in order. */
export type MediaEvent =
  | {
      readonly type: 'ingest.started'
      readonly streamId: string
      readonly sessionId: string
      readonly remoteAddress: string
    }
  | { readonly type: 'ingest.ended'; readonly streamId: string; readonly sessionId: string; readonly reason: string }
  | { readonly type: 'destination.changed'; readonly streamId: string; readonly destination: DestinationStatus }
  | PlayoutEvent
  | RecordingEvent
  /** Problems of a publisher's media that were found or no longer exist. */
  | {
      readonly type: 'warnings.changed'
      readonly streamId: string
      readonly raised: readonly MediaWarning[]
      readonly cleared: readonly MediaWarning[]
    }
  /** Destinations start or stop receiving the slate. */
  | { readonly type: 'slate.changed'; readonly streamId: string; readonly shown: boolean }
  /** Another publisher feeds the stream, without an interruption. */
  | {
      readonly type: 'input.changed'
      readonly streamId: string
      readonly source: IngestStatus['source']
      readonly previous: IngestStatus['source']
      /** `preferred`: the preferred one connected or returned. `selected`: by a user. `silent`: the other one sends nothing. `ended`: the other one has ended. */
      readonly reason: 'preferred' | 'selected' | 'silent' | 'ended'
    }
  /**
   * The WebRTC process ended, and these clients of the stream were disconnected: 0 or 1 publishers, and viewers of the
   * preview. The next client starts a new process.
   */
  | { readonly type: 'webrtc.lost'; readonly streamId: string; readonly publishers: number; readonly viewers: number }
  /** A viewer of the preview connected or left. */
  | { readonly type: 'viewers.changed'; readonly streamId: string; readonly viewers: number }
  /** Once a second for every live stream that receives media. `liveMs` counts since `ingest.started` of `sessionId`, monotonic. */
  | { readonly type: 'usage'; readonly streamId: string; readonly sessionId: string; readonly liveMs: number }

export interface MediaNodeStatus {
  readonly rtmpPort: number
  /** Null when the node takes no publishers by TLS. */
  readonly rtmpsPort: number | null
  /** Port where API nodes read previews. Null when they cannot. */
  readonly previewPort: number | null
  /** Share of a core that the process has used recently. */
  readonly cpu: number
  readonly uptimeSeconds: number
  readonly connections: number
  /** ffmpeg processes that run for renderings, and how many may run. */
  readonly renderings: { readonly running: number; readonly max: number }
  /** Null when the node takes no publishers by WHIP. */
  readonly whip: WhipStatus | null
  readonly streams: readonly StreamStatus[]
}

export interface WhipStatus {
  /** The UDP port. */
  readonly port: number
  /** Sessions of clients that are connected or connecting. */
  readonly sessions: readonly WhipSessionStatus[]
  /** Process id of the WebRTC process. Null while none is needed. */
  readonly pid: number | null
}

export interface WhipSessionStatus {
  readonly streamId: string
  readonly connected: boolean
  /** Reception of its tracks, at most a second old. */
  readonly tracks: readonly ReceptionStatus[]
}

/** Reception of a track by RTP. Counters start with the session. */
export interface ReceptionStatus {
  readonly kind: 'audio' | 'video'
  /** Packets that never arrived, or arrived too late. */
  readonly lost: number
  /** Packets that arrived after a request (NACK). */
  readonly recovered: number
  /** Requests for packets (NACK). A packet can be requested several times. */
  readonly requested: number
  /** Interarrival jitter, RFC 3550, section 6.4.1. */
  readonly jitterMs: number
}

/** Settings of the WHIP ingest. */
export interface WhipSettings {
  readonly host: string
  /** The UDP port of all sessions. 0 takes a free one. */
  readonly port: number
  /** Take a free port if `port` is in use. */
  readonly orFree?: boolean
  /** The address that clients should send to, if it is not that of an interface. The port is the same when absent. */
  readonly announced?: { readonly address: string; readonly port?: number }
  /** For audio, and for video that must be transcoded. */
  readonly ffmpeg?: { readonly path: string; readonly version: string }
}

/** A request of a WHIP client (RFC 9725). It carries only the hash of the token. */
export type WhipRequest =
  | {
      readonly type: 'offer'
      readonly path: string
      readonly keyHash: string
      readonly remoteAddress: string
      readonly sdp: string
      /** Transcode video to one size and one frame rate. */
      readonly normalise: boolean
    }
  | {
      readonly type: 'trickle'
      readonly path: string
      readonly keyHash: string
      readonly session: string
      readonly fragment: string
      /** ETags, one of which must be that of the session. Undefined for any. */
      readonly ifMatch?: readonly string[] | undefined
    }
  | { readonly type: 'delete'; readonly path: string; readonly keyHash: string; readonly session: string }

export type WhipReply =
  | { readonly ok: true; readonly session: string; readonly etag: string; readonly sdp: string }
  | { readonly ok: true; readonly session?: undefined }
  | {
      readonly ok: false
      readonly code:
        | 'unauthorized'
        | 'refused'
        | 'busy'
        | 'full'
        | 'malformed'
        | 'unusable'
        | 'not_found'
        | 'changed'
        | 'restart'
        | 'no_ffmpeg'
        | 'unavailable'
      /** For people. Contains no secret. */
      readonly message: string
    }

/** A running media node, in this process or in another one. */
export interface MediaNode {
  /** Applies a desired state: starts, changes and stops what differs. */
  apply(stream: DesiredStream): void
  /** Removes a stream: drops its publisher and closes its destinations. */
  remove(streamId: string): void
  /** Connects a waiting or failed destination now. */
  retry(streamId: string, destinationId: string): void
  /** Answers a WHIP client. Never rejects. */
  whip(request: WhipRequest): Promise<WhipReply>
  status(): MediaNodeStatus
  /** Stops listening, drops publishers, sends what is queued for destinations (for at most 2 s), and closes. */
  close(): Promise<void>
}

/** What a node needs from its host. */
export interface MediaNodeOptions {
  readonly host: string
  readonly port: number
  /** Called before Publish.Start. A rejection, or 5 s without an answer, refuses the publisher. */
  readonly authorizePublish: (request: PublishRequest) => Promise<PublishDecision>
  readonly onEvent: (event: MediaEvent) => void
  /** Whether the host still responds. True when absent. Without a host playout stops, because another node may take it over. */
  readonly isHostAlive?: () => boolean
  /** Destinations may resolve to loopback and private ranges. */
  readonly allowPrivateAddresses: boolean
  readonly log: MediaLog
}

export interface MediaLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
