import type { Routing } from '../sdp/routing.ts'
import { textElement } from './header-extension.ts'
import type { RtpPacket } from './rtp-packet.ts'

/** The payload types of a medium. */
export interface PayloadTypes {
  readonly payloadType: number
  /** Of its retransmissions; null where there are none. */
  readonly rtxPayloadType: number | null
}

export type Route = { readonly kind: 'audio' } | { readonly kind: 'video'; readonly layer: string }

/** Name of the only layer where there is no simulcast. */
export const ONLY_LAYER = ''

/**
 * Says which medium, and which layer of the video, a packet belongs to (RFC 8843, section 9.2): by the names in its header
 * where it has them, else by what its source was known for. The media that we take never share a payload type.
 */
export class Router {
  readonly #routing: Routing
  readonly #video: PayloadTypes | null
  readonly #audio: PayloadTypes | null
  readonly #layers = new Map<number, string>()

  constructor(routing: Routing, video: PayloadTypes | null, audio: PayloadTypes | null) {
    this.#routing = routing
    this.#video = video
    this.#audio = audio
  }

  /** Null for a packet that is none of ours. */
  route(packet: RtpPacket): Route | null {
    const { audioMid, midExtension, videoMid } = this.#routing
    const mid = textElement(packet.extension, midExtension)
    if (isOf(this.#audio, packet)) return mid === null || mid === audioMid ? { kind: 'audio' } : null
    if (!isOf(this.#video, packet) || (mid !== null && mid !== videoMid)) return null
    const layer = this.#layerOf(packet)
    return layer === null ? null : { kind: 'video', layer }
  }

  #layerOf({ extension, ssrc }: RtpPacket): string | null {
    const { layers, repairedRidExtension, ridExtension } = this.#routing
    if (layers.length === 0) return ONLY_LAYER
    const named = textElement(extension, repairedRidExtension) ?? textElement(extension, ridExtension)
    if (named === null) return this.#layers.get(ssrc) ?? null
    if (!layers.includes(named)) return null
    this.#layers.set(ssrc, named)
    // A sender has two sources a layer; one that makes up more has no right to our memory.
    if (this.#layers.size > layers.length * MOST_SOURCES) this.#layers.delete(this.#layers.keys().next().value!)
    return named
  }
}

const MOST_SOURCES = 8

function isOf(types: PayloadTypes | null, { payloadType }: RtpPacket): boolean {
  return types !== null && (payloadType === types.payloadType || payloadType === types.rtxPayloadType)
}
