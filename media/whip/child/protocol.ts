import type { MediaLog, ReceptionStatus } from '../../types.ts'
import type { ChosenCodec } from '../sdp/codecs.ts'
import type { Routing } from '../sdp/routing.ts'

/** Settings of the WHIP process. */
export interface WhipChildSettings {
  /** The address that the UDP socket is bound to. */
  readonly host: string
  /** The UDP port that all sessions share. */
  readonly port: number
}

/** A publisher's offer. */
export interface WhipOffer {
  readonly sdp: string
  readonly video: ChosenCodec | null
  readonly audio: ChosenCodec | null
  readonly routing: Routing
}

/** A viewer's offer. */
export interface WhepOffer {
  readonly sdp: string
  readonly tracks: readonly { readonly kind: MediumKind; readonly mid: string; readonly payloadType: number }[]
}

export type MediumKind = 'video' | 'audio'

/** From the media process to the WHIP process. */
export type ParentMessage =
  | { readonly type: 'start'; readonly settings: WhipChildSettings }
  | { readonly type: 'publish'; readonly session: string; readonly offer: WhipOffer }
  | { readonly type: 'watch'; readonly session: string; readonly offer: WhepOffer }
  | { readonly type: 'frame'; readonly session: string; readonly frame: ViewerFrame }
  | { readonly type: 'close'; readonly session: string }
  /** Answered with `pong` unless the event loop is blocked. */
  | { readonly type: 'ping' }

/** From the WHIP process to the media process. */
export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'answer'; readonly session: string; readonly sdp: string }
  | { readonly type: 'connected'; readonly session: string }
  /** The last message of a session, also if its offer was never answered. */
  | { readonly type: 'ended'; readonly session: string; readonly reason: string }
  /** Sent once a second for each publisher. */
  | { readonly type: 'reception'; readonly session: string; readonly tracks: readonly ReceptionStatus[] }
  | { readonly type: 'media'; readonly session: string; readonly media: CodedMedia }
  | { readonly type: 'log'; readonly level: keyof MediaLog; readonly fields: object; readonly message: string }

/** Coded media of a publisher. Timestamps are milliseconds on the session timeline. */
export type CodedMedia =
  /** An AVCDecoderConfigurationRecord. */
  | { readonly kind: 'config'; readonly timestamp: number; readonly data: Buffer }
  /** A video frame. H.264 is an FLV tag body. VP8 is a raw frame. */
  | { readonly kind: 'video'; readonly timestamp: number; readonly isKeyframe: boolean; readonly data: Buffer }
  /** An Opus packet. */
  | { readonly kind: 'audio'; readonly timestamp: number; readonly data: Buffer }

/** A coded frame for a viewer. */
export type ViewerFrame =
  /** An H.264 frame: NAL units with 4-byte length prefixes. `timestamp` is in milliseconds. */
  | { readonly kind: 'video'; readonly timestamp: number; readonly data: Buffer }
  /** The next Opus packet. Each has 20 ms of audio. */
  | { readonly kind: 'audio'; readonly data: Buffer }

/** The reason in `ended` if the WebRTC library rejected the offer. */
export const OFFER_REFUSED = 'offer refused'
