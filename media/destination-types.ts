/** Destinations: where a stream is to be sent, in what form, and how it fares there. Plain data, as all of `types.ts`. */

import type { FaultCode } from './fault-codes.ts'

/**
 * What a destination takes, as far as it is known. Codecs by the names of {@link IngestStatus}; null where nobody says.
 */
export interface DestinationRules {
  /** What people call it: `Twitch`. */
  readonly name: string
  readonly videoCodecs: readonly string[] | null
  readonly audioCodecs: readonly string[] | null
  /** Bits per second of the whole stream. */
  readonly maxBitrate: number | null
  readonly maxKeyframeIntervalSeconds: number | null
}

/** In what other form a destination wants the stream. Those that want the same share it. */
export interface Rendering {
  /** Bits per second of pictures and sound together. */
  readonly maxBitrate?: number
  /** The middle of the picture, upright. */
  readonly crop?: '9:16'
  readonly delayMs?: number
}

/** How encoding anew for a destination goes. */
export interface RenderingStatus {
  /** `unavailable`: this node cannot, for want of ffmpeg or of room. */
  readonly state: 'idle' | 'starting' | 'running' | 'restarting' | 'unavailable'
  readonly restarts: number
  /** Seconds of media that come out in a second, over the last few: below 1 it does not keep up. Null while nothing does. */
  readonly speed: number | null
  /** Pictures left out because encoding does not keep up. */
  readonly droppedVideo: number
  readonly lastError: string | null
}

/** Where one stream is to be sent. `url` carries no key; the key is a secret and is never logged or put on an event. */
export interface Destination {
  readonly id: string
  /** `rtmp://host[:port]/app[?query]` or `rtmps://…`; the application is everything up to the key. */
  readonly url: string
  /** The stream name sent with `publish`, query string included. A secret. */
  readonly streamKey: string
  /** Absent for a server of which nothing is known. */
  readonly rules?: DestinationRules
  /** Absent where the stream goes out as it comes. */
  readonly rendering?: Rendering
  /** Whether its server has taken media with this key before: a refusal may then be temporary. */
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

/** Why a destination is not live. `code` is stable; `message` is for a person and never contains the key. */
export interface DestinationFault {
  readonly code: FaultCode
  readonly message: string
  /** What a person may want to check; absent where the message says it all. */
  readonly hint?: string
  /** ISO 8601, UTC. */
  readonly at: string
}

/** The figures of one destination; counters run since the stream went live. */
export interface DestinationStatus {
  readonly id: string
  readonly state: DestinationState
  /** ISO 8601: when the present state began. */
  readonly since: string
  readonly bytesSent: number
  /** Bytes that the peer acknowledged, by RTMP acknowledgement or by TCP where the peer sends none. */
  readonly bytesAcknowledged: number
  /** Outgoing bits per second over the last few seconds. */
  readonly bitrate: number
  readonly queuedBytes: number
  /** Media time waiting in the queue, milliseconds. */
  readonly queuedMs: number
  readonly messagesSent: number
  readonly droppedVideo: number
  readonly droppedAudio: number
  readonly reconnects: number
  /** Seconds during which media moved. */
  readonly liveSeconds: number
  readonly lastError: DestinationFault | null
  /** ISO 8601: when the next attempt is due; null when none is. */
  readonly nextRetryAt: string | null
  /** Whether its server has ever taken media with this key. */
  readonly hasWorked: boolean
}
