/** Destinations of a stream: their configuration and their status. All types are plain data, as in `types.ts`. */

import type { FaultCode } from './fault-codes.ts'

/** What a destination accepts. Codecs are named as in {@link IngestStatus}. Fields are null when the limit is not known. */
export interface DestinationRules {
  /** Display name, such as `Twitch`. */
  readonly name: string
  readonly videoCodecs: readonly string[] | null
  readonly audioCodecs: readonly string[] | null
  /** Bits per second of the whole stream. */
  readonly maxBitrate: number | null
  readonly maxKeyframeIntervalSeconds: number | null
}

/** How a destination's variant differs from the ingest. Destinations with the same rendering share one encoder. */
export interface Rendering {
  /** Bits per second of video and audio together. */
  readonly maxBitrate?: number
  /** Crops the center of the picture to portrait format. */
  readonly crop?: '9:16'
  readonly delayMs?: number
}

/** The state of the encoder of a rendering. */
export interface RenderingStatus {
  /** `unavailable`: this node has no usable ffmpeg, or already runs as many encoders as it may. */
  readonly state: 'idle' | 'starting' | 'running' | 'restarting' | 'unavailable'
  readonly restarts: number
  /** Seconds of media encoded per second, over the last few seconds. Below 1 the encoder does not keep up. Null before the first output. */
  readonly speed: number | null
  /** Video frames that were dropped because the encoder does not keep up. */
  readonly droppedVideo: number
  readonly lastError: string | null
}

/** A server that a stream is relayed to. `url` contains no key. The key is a secret: no log and no event contains it. */
export interface Destination {
  readonly id: string
  /** `rtmp://host[:port]/app[?query]` or `rtmps://…`. The application is everything before the key. */
  readonly url: string
  /** The stream name that is sent with `publish`, including its query string. A secret. */
  readonly streamKey: string
  /** Absent when nothing is known about the server. */
  readonly rules?: DestinationRules
  /** Absent when the destination gets the ingest unchanged. */
  readonly rendering?: Rendering
  /** Whether the server has accepted media with this key before. If so, a refusal may be temporary. */
  readonly hasWorked?: boolean
}

export type DestinationState =
  | 'idle'
  | 'resolving'
  | 'connecting'
  | 'handshake'
  | 'publishing'
  | 'live'
  | 'congested'
  | 'backoff'
  | 'needs_attention'
  | 'stopped'

/** Why a destination is not live. `code` is stable. `message` is for people and never contains the key. */
export interface DestinationFault {
  readonly code: FaultCode
  readonly message: string
  /** What the user should check. Absent when the message is enough. */
  readonly hint?: string
  /** ISO 8601, UTC. */
  readonly at: string
}

/** State and counters of one destination. Counters start when the stream goes live. */
export interface DestinationStatus {
  readonly id: string
  readonly state: DestinationState
  /** ISO 8601: when the current state began. */
  readonly since: string
  readonly bytesSent: number
  /** Bytes that the server acknowledged: by RTMP Acknowledgement, or by TCP if the server sends none. */
  readonly bytesAcknowledged: number
  /** Outgoing bits per second over the last few seconds. */
  readonly bitrate: number
  readonly queuedBytes: number
  /** Duration of the media in the queue, milliseconds. */
  readonly queuedMs: number
  readonly messagesSent: number
  readonly droppedVideo: number
  readonly droppedAudio: number
  readonly reconnects: number
  /** Seconds during which media was sent. */
  readonly liveSeconds: number
  readonly lastError: DestinationFault | null
  /** ISO 8601: when the next attempt is due. Null when none is scheduled. */
  readonly nextRetryAt: string | null
  /** Whether the server has ever accepted media with this key. */
  readonly hasWorked: boolean
}
