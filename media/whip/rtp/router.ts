import type { Routing } from '../sdp/routing.ts'
import { textElement } from './header-extension.ts'
import type { RtpPacket } from './rtp-packet.ts'

/** The payload types of an accepted medium. */
export interface PayloadTypes {
  readonly payloadType: number
  /** Payload type of its RTX retransmissions; null without RTX. */
  readonly rtxPayloadType: number | null
}

export type Route = { readonly kind: 'audio' } | { readonly kind: 'video'; readonly layer: string }

/** The layer name without simulcast. */
export const ONLY_LAYER = ''
/** SSRCs that are remembered per layer. A sender uses two per layer: media and RTX. */
const MAX_SOURCES_PER_LAYER = 8

/**
 * Assigns packets to audio or to a video layer (RFC 8843, section 9.2): by MID and RID in the header extension, or else by
 * payload type and by the layer that the SSRC was last used for. Accepted media never share a payload type.
 */
export class Router {
  readonly #routing: Routing
  readonly #video: PayloadTypes | null
  readonly #audio: PayloadTypes | null
  /** The layer of each SSRC. */
  readonly #layerBySsrc = new Map<number, string>()

  constructor(routing: Routing, video: PayloadTypes | null, audio: PayloadTypes | null) {
    this.#routing = routing
    this.#video = video
    this.#audio = audio
  }

  /** Null for a packet of no accepted medium or layer. */
  route(packet: RtpPacket): Route | null {
    const { audioMid, midExtension, videoMid } = this.#routing
    const mid = textElement(packet.extension, midExtension)
    if (hasPayloadType(this.#audio, packet)) return mid === null || mid === audioMid ? { kind: 'audio' } : null
    if (!hasPayloadType(this.#video, packet) || (mid !== null && mid !== videoMid)) return null
    const layer = this.#layerOf(packet)
    return layer === null ? null : { kind: 'video', layer }
  }

  #layerOf({ extension, ssrc }: RtpPacket): string | null {
    const { layers, repairedRidExtension, ridExtension } = this.#routing
    if (layers.length === 0) return ONLY_LAYER
    const rid = textElement(extension, repairedRidExtension) ?? textElement(extension, ridExtension)
    if (rid === null) return this.#layerBySsrc.get(ssrc) ?? null
    if (!layers.includes(rid)) return null
    this.#layerBySsrc.set(ssrc, rid)
    // Bounds the memory that a sender with random SSRCs can use.
    if (this.#layerBySsrc.size > layers.length * MAX_SOURCES_PER_LAYER) {
      this.#layerBySsrc.delete(this.#layerBySsrc.keys().next().value!)
    }
    return rid
  }
}

function hasPayloadType(types: PayloadTypes | null, { payloadType }: RtpPacket): boolean {
  return types !== null && (payloadType === types.payloadType || payloadType === types.rtxPayloadType)
}
