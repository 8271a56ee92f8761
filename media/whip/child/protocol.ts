import type { MediaLog, ReceptionStatus } from '../../types.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import type { Routing } from '../sdp/routing.ts'

/** What the WHIP process is started with. */
export interface WhipChildSettings {
  /** Address of the one UDP port of all sessions. */
  readonly host: string
  readonly port: number
}

/** What of an offer the process has to know. */
export interface SessionOffer {
  readonly sdp: string
  readonly video: ChosenCodec | null
  readonly audio: ChosenCodec | null
  readonly routing: Routing
}

/** What of the offer of somebody who watches. */
export interface WatchOffer {
  readonly sdp: string
  readonly tracks: readonly { readonly kind: MediumKind; readonly mid: string; readonly payloadType: number }[]
}

export type MediumKind = 'video' | 'audio'

/** From the media process to the WHIP process. */
export type ParentMessage =
  | { readonly type: 'start'; readonly settings: WhipChildSettings }
  | { readonly type: 'offer'; readonly session: string; readonly offer: SessionOffer }
  | { readonly type: 'watch'; readonly session: string; readonly offer: WatchOffer }
  | { readonly type: 'show'; readonly session: string; readonly shown: Shown }
  | { readonly type: 'close'; readonly session: string }
  /** Answered with `pong` as long as the event loop turns. */
  | { readonly type: 'ping' }

/** From the WHIP process to the media process. Times are milliseconds on the session's line. */
export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'answer'; readonly session: string; readonly sdp: string }
  | { readonly type: 'connected'; readonly session: string }
  /** Last word of a session, also of one that never had an answer. */
  | { readonly type: 'ended'; readonly session: string; readonly reason: string }
  /** Once a second of every session. */
  | { readonly type: 'reception'; readonly session: string; readonly tracks: readonly ReceptionStatus[] }
  | { readonly type: 'media'; readonly session: string; readonly media: CodedMedia }
  | { readonly type: 'log'; readonly level: keyof MediaLog; readonly fields: object; readonly message: string }

export type CodedMedia =
  /** An AVCDecoderConfigurationRecord. */
  | { readonly kind: 'config'; readonly timestamp: number; readonly data: Buffer }
  /** A picture: H.264 as an FLV tag body, VP8 as it is. */
  | { readonly kind: 'video'; readonly timestamp: number; readonly isKeyframe: boolean; readonly data: Buffer }
  /** An Opus packet. */
  | { readonly kind: 'audio'; readonly timestamp: number; readonly data: Buffer }

/** What those who watch are shown. */
export type Shown =
  /** A picture: NAL units, each behind its length in four bytes. Milliseconds. */
  | { readonly kind: 'video'; readonly timestamp: number; readonly data: Buffer }
  /** An Opus packet of 20 ms, the one that follows the last. */
  | { readonly kind: 'audio'; readonly data: Buffer }

/** Why a session ended that the WebRTC library did not take the offer of. */
export const OFFER_REFUSED = 'offer refused'
