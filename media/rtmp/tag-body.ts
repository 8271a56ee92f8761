import { enhancedStart } from './enhanced.ts'

/** The body of an audio or video message without its FLV tag header. */
export interface TagBody {
  /** Composition time offset: presentation time minus decoding time, milliseconds. */
  readonly composition: number
  /** A decoder configuration record, or a coded frame. */
  readonly data: Buffer
}

const FOUR_CC_BYTES = 4
const COMPOSITION_BYTES = 3
const CODED_FRAMES = 1
/** Codecs whose CodedFrames have a composition time. */
const CODECS_WITH_COMPOSITION = new Set(['avc1', 'hvc1'])
/** Frame type, codec, packet type and composition time of legacy video (FLV specification, E.4.3). */
const VIDEO_HEADER_BYTES = 5
/** Sound format and packet type of AAC (E.4.2). */
const AAC_HEADER_BYTES = 2

/** Removes the tag header from a sequence header or frame of a codec that has sequence headers; empty when truncated. */
export function readTagBody(kind: 'video' | 'audio', payload: Buffer): TagBody {
  const first = payload[0] ?? 0
  if (kind === 'video' ? first >= 0x80 : first >> 4 === 9) return enhancedBody(kind, payload)
  if (kind === 'audio') return { composition: 0, data: payload.subarray(AAC_HEADER_BYTES) }
  return { composition: compositionAt(payload, 2), data: payload.subarray(VIDEO_HEADER_BYTES) }
}

function enhancedBody(kind: 'video' | 'audio', payload: Buffer): TagBody {
  const start = enhancedStart(payload)
  if (start === null) return { composition: 0, data: payload.subarray(payload.length) }
  const body = start.offset + FOUR_CC_BYTES
  const hasComposition =
    kind === 'video' &&
    start.packetType === CODED_FRAMES &&
    CODECS_WITH_COMPOSITION.has(payload.toString('latin1', start.offset, body))
  if (!hasComposition) return { composition: 0, data: payload.subarray(body) }
  return { composition: compositionAt(payload, body), data: payload.subarray(body + COMPOSITION_BYTES) }
}

function compositionAt(payload: Buffer, at: number): number {
  return at + COMPOSITION_BYTES <= payload.length ? payload.readIntBE(at, COMPOSITION_BYTES) : 0
}
