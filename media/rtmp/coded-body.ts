import { enhancedStart } from './enhanced.ts'

/** What a message carries for a decoder. */
export interface CodedBody {
  /** How much later than it is decoded a picture is shown, milliseconds. */
  readonly composition: number
  /** A configuration record, or the coded picture or sound. */
  readonly data: Buffer
}

const FOUR_CC_BYTES = 4
const COMPOSITION_BYTES = 3
const CODED_FRAMES = 1
/** The codecs whose CodedFrames say when a picture is shown. */
const REORDERED = new Set(['avc1', 'hvc1'])
/** Codec, packet type and composition time of legacy video (FLV specification, E.4.3); codec and packet type of AAC. */
const VIDEO_BYTES = 5
const AAC_BYTES = 2

/** Takes the headers off a configuration or a frame of a codec that has configurations; empty when it is cut short. */
export function codedBody(kind: 'video' | 'audio', payload: Buffer): CodedBody {
  const first = payload[0] ?? 0
  if (kind === 'video' ? first >= 0x80 : first >> 4 === 9) return enhancedBody(kind, payload)
  if (kind === 'audio') return { composition: 0, data: payload.subarray(AAC_BYTES) }
  return { composition: compositionAt(payload, 2), data: payload.subarray(VIDEO_BYTES) }
}

function enhancedBody(kind: 'video' | 'audio', payload: Buffer): CodedBody {
  const start = enhancedStart(payload)
  if (start === null) return { composition: 0, data: payload.subarray(payload.length) }
  const body = start.offset + FOUR_CC_BYTES
  const isTimed =
    kind === 'video' &&
    start.packetType === CODED_FRAMES &&
    REORDERED.has(payload.toString('latin1', start.offset, body))
  if (!isTimed) return { composition: 0, data: payload.subarray(body) }
  return { composition: compositionAt(payload, body), data: payload.subarray(body + COMPOSITION_BYTES) }
}

function compositionAt(payload: Buffer, at: number): number {
  return at + COMPOSITION_BYTES <= payload.length ? payload.readIntBE(at, COMPOSITION_BYTES) : 0
}
