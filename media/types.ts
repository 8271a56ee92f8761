/**
 * The vocabulary of the media library: what a host (the API process, a test, a benchmark) says to a media node and
 * what the node says back. Every message is plain data, so that it crosses a process boundary as it is.
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
 * One coded media message of a live source. `payload` is the RTMP message body (FLV tag body) and is shared by every
 * consumer: nobody may write to it.
 */
export interface MediaMessage {
  readonly kind: MediaKind
  /** Milliseconds on the source's own timeline, unwrapped: never wraps at 32 bits, never jumps back on a resume. */
  readonly timestamp: number
  readonly payload: Buffer
  /** A decoder configuration record or the onMetaData object: cached and replayed to whoever joins later. */
  readonly isHeader: boolean
  /** A video message that starts a closed group of pictures. */
  readonly isKeyframe: boolean
  /** Shown in place of a publisher that is away. Recordings leave it out unless they are to keep it. */
  readonly isSlate?: true
}

/** What is shown while the publisher is away. */
export interface DesiredSlate {
  /** Path of a picture on this machine; absent for a plain card. */
  readonly picture?: string
}

export interface SlateStatus {
  /**
   * `waiting` for a publisher on the air, whose pictures it is to look like; `ready` to be shown; `unavailable`: what
   * comes in is held in silence when it goes, and `reason` says why.
   */
  readonly state: 'waiting' | 'preparing' | 'ready' | 'shown' | 'unavailable'
  readonly reason: string | null
}

export interface PreferredInput {
  readonly source: 'primary' | 'backup'
  /** Whether a person chose it: then it takes over at once, and not only when it has proved to be steady. */
  readonly selected: boolean
}

/** What a stream ought to look like on this node. Applying the same state twice changes nothing. */
export interface DesiredStream {
  readonly streamId: string
  /** Public part of the ingest key. The only form in which a key may appear in logs, events and metrics. */
  readonly path: string
  /** Lower-case hex SHA-256 of the whole ingest key (`<path>-<secret>`); a publisher admitted with another is dropped. */
  readonly keyHash: string
  /** Of the key of a second publisher, which stands by for the first. */
  readonly backup?: { readonly path: string; readonly keyHash: string }
  /** Of the token for WHIP: a publisher with it stands in the place of the one with the key. */
  readonly whipHash?: string
  /** Whether media is relayed to the destinations. False: ingest only. */
  readonly live: boolean
  readonly destinations: readonly Destination[]
  /** Absent when nothing is played from files. */
  readonly playout?: DesiredPlayout
  /** Absent when nothing is recorded. */
  readonly recording?: DesiredRecording
  /** Absent when nothing is shown while the publisher is away. */
  readonly slate?: DesiredSlate
  /** Which publisher feeds the stream while both send. Absent: the one that does, until it fails. */
  readonly preferredInput?: PreferredInput
  /** How long connections are kept without a publisher, milliseconds; the node's own limit when absent. */
  readonly holdMs?: number
}

/** A publisher's request to send media, asked before `NetStream.Publish.Start`. */
export interface PublishRequest {
  /** Public part of the key. */
  readonly path: string
  /** Lower-case hex SHA-256 of the whole key as the publisher sent it. */
  readonly keyHash: string
  readonly remoteAddress: string
  /** Set when `keyHash` is of a token for WHIP, which is no RTMP key. */
  readonly via?: 'whip'
}

export type PublishDecision =
  | { readonly allowed: true; readonly stream: DesiredStream }
  /** `later`: the key is good, but nothing is taken with it now. */
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

/** What is wrong with what a publisher sends, in words. */
export interface MediaWarning {
  /** Stable, for programs. */
  readonly code: WarningCode
  /** The destination that does not take it so; null when it is wrong for everybody. */
  readonly destinationId: string | null
  readonly message: string
  /** ISO 8601: when it was first told. */
  readonly since: string
}

/** What is coming in. Null fields are not known yet. */
export interface IngestStatus {
  readonly sessionId: string
  /** With which of the stream's keys it was admitted; `file` for one that plays files. */
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
  /** For everybody, and for single destinations. */
  readonly warnings: readonly MediaWarning[]
}

export interface StreamStatus {
  readonly streamId: string
  readonly path: string
  readonly live: boolean
  readonly ingest: IngestStatus | null
  /** The other publisher, of which nothing is relayed while the first one sends. */
  readonly standby: IngestStatus | null
  readonly destinations: readonly (DestinationStatus & { readonly rendering: RenderingStatus | null })[]
  /** Null when no files are played. */
  readonly playout: (PlayoutPosition & { readonly id: string; readonly paused: boolean }) | null
  /** The file that is being recorded, and why something of what goes out is not; null when nothing is to be recorded. */
  readonly recording: { readonly bytes: number; readonly seconds: number; readonly refused: string | null } | null
  /** Milliseconds during which media was taken in while live, since this node first saw the stream; never goes back. */
  readonly liveMs: number
  /** Of the preview, at the moment. */
  readonly viewers: number
  /** Null when none is wanted. */
  readonly slate: SlateStatus | null
}

/** What a node tells its host, in order. */
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
  /** What has turned out to be wrong with a publisher's media, and what is right again. */
  | {
      readonly type: 'warnings.changed'
      readonly streamId: string
      readonly raised: readonly MediaWarning[]
      readonly cleared: readonly MediaWarning[]
    }
  /** Destinations are shown the slate from now on, or not any more. */
  | { readonly type: 'slate.changed'; readonly streamId: string; readonly shown: boolean }
  /** Another publisher feeds the stream, without an interruption. */
  | {
      readonly type: 'input.changed'
      readonly streamId: string
      readonly source: IngestStatus['source']
      readonly previous: IngestStatus['source']
      /** `preferred`: it came or came back; `selected` by a person; `silent`: the other one sends nothing; else it has ended. */
      readonly reason: 'preferred' | 'selected' | 'silent' | 'ended'
    }
  /**
   * The process that WebRTC runs in ended, and these clients of the stream were cut off with it: 0 or 1 publishers, and
   * viewers of the preview. The next client starts another process.
   */
  | { readonly type: 'webrtc.lost'; readonly streamId: string; readonly publishers: number; readonly viewers: number }
  /** Somebody came to watch the preview, or left. */
  | { readonly type: 'viewers.changed'; readonly streamId: string; readonly viewers: number }
  /** Once a second for every stream that is taking in media while live. `liveMs` counts since `ingest.started` of `sessionId`, monotonic. */
  | { readonly type: 'usage'; readonly streamId: string; readonly sessionId: string; readonly liveMs: number }

export interface MediaNodeStatus {
  readonly rtmpPort: number
  /** Null where publishers cannot come by TLS. */
  readonly rtmpsPort: number | null
  /** Where API nodes read previews; null where they cannot. */
  readonly previewPort: number | null
  /** Share of a core that the process has used lately. */
  readonly cpu: number
  readonly uptimeSeconds: number
  readonly connections: number
  /** ffmpeg processes that encode streams anew for destinations, and how many may run. */
  readonly renderings: { readonly running: number; readonly most: number }
  /** Null where publishers cannot come by WHIP. */
  readonly whip: WhipStatus | null
  readonly streams: readonly StreamStatus[]
}

export interface WhipStatus {
  /** UDP. */
  readonly port: number
  /** Of clients, connected or about to. */
  readonly sessions: readonly WhipSessionStatus[]
  /** The process that WebRTC runs in; null while none is needed. */
  readonly pid: number | null
}

export interface WhipSessionStatus {
  readonly streamId: string
  readonly connected: boolean
  /** How its media comes in; a second old at most. */
  readonly tracks: readonly ReceptionStatus[]
}

/** How a track comes in by RTP. Counters run since its session began. */
export interface ReceptionStatus {
  readonly kind: 'audio' | 'video'
  /** Packets given up: they never came, or too late. */
  readonly lost: number
  /** Packets that came after they had been asked for again. */
  readonly recovered: number
  /** Packets asked for again (NACK), each time that they were. */
  readonly requested: number
  /** Interarrival jitter, RFC 3550, section 6.4.1. */
  readonly jitterMs: number
}

/** How publishers may come by WHIP. */
export interface WhipSettings {
  readonly host: string
  /** The one UDP port of all sessions; 0 takes a free one. */
  readonly port: number
  /** Take a free one also when that is taken. */
  readonly orFree?: boolean
  /** Where clients are told to send, where that is not the address of an interface; the same port when absent. */
  readonly announced?: { readonly address: string; readonly port?: number }
  /** For sound, and for video that has to be encoded anew. */
  readonly ffmpeg?: { readonly path: string; readonly version: string }
}

/** What a client of WHIP (RFC 9725) asks for. Its token is known by its hash alone. */
export type WhipRequest =
  | {
      readonly type: 'offer'
      readonly path: string
      readonly keyHash: string
      readonly remoteAddress: string
      readonly sdp: string
      /** Encode video anew, in one size and at one rate. */
      readonly normalise: boolean
    }
  | {
      readonly type: 'trickle'
      readonly path: string
      readonly keyHash: string
      readonly session: string
      readonly fragment: string
      /** The ETag that the client knows; undefined asks for none. */
      /** Tags of which one must be the session's; undefined for any. */
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
        | 'unavailable'
      /** For people; has no secret. */
      readonly message: string
    }

/** A running media node, in this process or behind a link to another one. */
export interface MediaNode {
  /** Makes the node hold this state; starts, changes and stops what differs. */
  apply(stream: DesiredStream): void
  /** Forgets a stream: drops its publisher (whatever the publisher does) and closes its destinations. */
  remove(streamId: string): void
  /** Connects a waiting or failed destination now. */
  retry(streamId: string, destinationId: string): void
  /** Answers a client of WHIP. Never rejects. */
  whip(request: WhipRequest): Promise<WhipReply>
  status(): MediaNodeStatus
  /** Stops listening, ends publishers, sends destinations what is queued (at most 2 s), closes. */
  close(): Promise<void>
}

/** What a node needs from whoever runs it. */
export interface MediaNodeOptions {
  readonly host: string
  readonly port: number
  /** Asked before Publish.Start; a rejection or 5 s without an answer refuses the publisher. */
  readonly authorizePublish: (request: PublishRequest) => Promise<PublishDecision>
  readonly onEvent: (event: MediaEvent) => void
  /** Whether whoever runs it is still heard; true when absent. Files are not played on without: another node may by then. */
  readonly isHosted?: () => boolean
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
