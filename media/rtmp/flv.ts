import { decodeAmf0, decodeFirstAmf0 } from './amf0.ts'
import { readTagBody } from './tag-body.ts'
import { enhancedStart } from './enhanced.ts'
import { av1VideoSize } from './obu.ts'
import { isRandomAccessPoint } from './random-access.ts'
import { avcVideoSize, hevcVideoSize } from './sps.ts'
import type { VideoSize } from './sps.ts'
import type { MediaKind } from '../types.ts'

/** What the tag header of a message says. `codec` is a lower-case name, or the FourCC of an unknown codec. */
export interface Classification {
  readonly kind: MediaKind
  /** A sequence header. */
  readonly isSequenceHeader: boolean
  /** The message has the keyframe flag, or the coded picture is a random access point. */
  readonly isKeyframe: boolean
  /** A coded video or audio frame: no sequence header, end of sequence or metadata. */
  readonly isFrame: boolean
  readonly codec: string | null
  /** An Enhanced RTMP multitrack message. */
  readonly isMultitrack?: true
}

/** RTMP message types that carry media. */
export const AUDIO = 8
export const VIDEO = 9
export const DATA_AMF3 = 15
export const DATA = 18

/** CodecID of the FLV specification, E.4.3.1. 12 and 13 are in common use for HEVC and AV1, but not standardized. */
const VIDEO_CODECS: Record<number, string> = {
  2: 'h263',
  3: 'screen',
  4: 'vp6',
  5: 'vp6',
  6: 'screen',
  7: 'h264',
  12: 'hevc',
  13: 'av1',
}
/** SoundFormat of the FLV specification, E.4.2.1. */
const AUDIO_CODECS: Record<number, string> = {
  0: 'pcm',
  1: 'adpcm',
  2: 'mp3',
  3: 'pcm',
  4: 'nellymoser',
  5: 'nellymoser',
  6: 'nellymoser',
  7: 'pcma',
  8: 'pcmu',
  10: 'aac',
  11: 'speex',
  14: 'mp3',
}
/** FourCCs of Enhanced RTMP v2. */
const FOURCC_CODECS: Record<string, string> = {
  avc1: 'h264',
  hvc1: 'hevc',
  av01: 'av1',
  vp09: 'vp9',
  vp08: 'vp8',
  mp4a: 'aac',
  Opus: 'opus',
  fLaC: 'flac',
  'ac-3': 'ac3',
  'ec-3': 'eac3',
  '.mp3': 'mp3',
}
/** CodecIDs whose legacy tags have a packet type: 0 sequence header, 1 frame, 2 end of sequence. */
const CODECS_WITH_PACKET_TYPE = new Set([7, 12, 13])

/** FrameType of the FLV specification, E.4.3.1. */
const KEYFRAME = 1
const GENERATED_KEYFRAME = 4

const SEQUENCE_START = 0
const CODED_FRAMES = 1
const CODED_FRAMES_X = 3
const MPEG2TS_SEQUENCE_START = 5
const AUDIO_MULTITRACK = 5
const VIDEO_MULTITRACK = 6

/** Classifies the body of an audio or video message. A malformed body is a frame of an unknown codec, not an error. */
export function classify(type: typeof AUDIO | typeof VIDEO, payload: Buffer): Classification {
  return type === VIDEO ? classifyVideo(payload) : classifyAudio(payload)
}

function classifyVideo(payload: Buffer): Classification {
  const first = payload[0]
  if (first === undefined) return other('video', null)
  if ((first & 0x80) !== 0) return classifyEnhanced('video', payload)
  const codecId = first & 0x0f
  const codec = VIDEO_CODECS[codecId] ?? null
  const frameType = first >> 4
  if (frameType === 5) return other('video', codec)
  if (!CODECS_WITH_PACKET_TYPE.has(codecId)) return frame('video', codec, frameType === 1)
  const packetType = payload[1]
  if (packetType === 0) return header('video', codec)
  return packetType === 1 ? picture(codec, frameType, payload) : other('video', codec)
}

function classifyAudio(payload: Buffer): Classification {
  const first = payload[0]
  if (first === undefined) return other('audio', null)
  const format = first >> 4
  if (format === 9) return classifyEnhanced('audio', payload)
  const codec = AUDIO_CODECS[format] ?? null
  if (format === 10 && payload[1] === 0) return header('audio', codec)
  return frame('audio', codec, false)
}

/** Enhanced RTMP v2, "ExVideoTagHeader" and "ExAudioTagHeader". */
function classifyEnhanced(kind: 'audio' | 'video', payload: Buffer): Classification {
  const frameType = (payload[0]! >> 4) & 0x07
  const start = enhancedStart(payload)
  if (start === null) return other(kind, null)
  const { offset, packetType } = start
  if (kind === 'video' && frameType === 5 && packetType !== 4) return other(kind, null)
  if (packetType === (kind === 'video' ? VIDEO_MULTITRACK : AUDIO_MULTITRACK)) {
    return { ...other(kind, null), isMultitrack: true }
  }
  const fourCc = payload.toString('latin1', offset, offset + 4)
  if (fourCc.length < 4) return other(kind, null)
  const codec = FOURCC_CODECS[fourCc] ?? (/^[\w.-]{4}$/.test(fourCc) ? fourCc : null)
  if (packetType === SEQUENCE_START || (kind === 'video' && packetType === MPEG2TS_SEQUENCE_START)) {
    return header(kind, codec)
  }
  if (packetType !== CODED_FRAMES && !(kind === 'video' && packetType === CODED_FRAMES_X)) return other(kind, codec)
  return kind === 'video' ? picture(codec, frameType, payload) : frame(kind, codec, false)
}

/** Some senders of HEVC and AV1 do not set the keyframe flag. */
function picture(codec: string | null, frameType: number, payload: Buffer): Classification {
  const isFlagged = frameType === KEYFRAME || frameType === GENERATED_KEYFRAME
  return frame('video', codec, isFlagged || isRandomAccessPoint(codec, readTagBody('video', payload).data))
}

/** Sets the frame type of a video message to keyframe, in place. Legacy and Enhanced RTMP have it in the same bits. */
export function flagKeyframe(payload: Buffer): void {
  const frameType = (payload[0]! >> 4) & 0x07
  if (frameType !== GENERATED_KEYFRAME) payload[0] = (payload[0]! & 0x8f) | (KEYFRAME << 4)
}

function header(kind: MediaKind, codec: string | null): Classification {
  return { kind, isSequenceHeader: true, isKeyframe: false, isFrame: false, codec }
}

function frame(kind: MediaKind, codec: string | null, isKeyframe: boolean): Classification {
  return { kind, isSequenceHeader: false, isKeyframe, isFrame: true, codec }
}

function other(kind: MediaKind, codec: string | null): Classification {
  return { kind, isSequenceHeader: false, isKeyframe: false, isFrame: false, codec }
}

/** Reads the size of the video from a video sequence header; null when it has none or is damaged. */
export function headerVideoSize(payload: Buffer, codec: string | null): VideoSize | null {
  const record = readTagBody('video', payload).data
  if (codec === 'h264') return avcVideoSize(record)
  if (codec === 'av1') return av1VideoSize(record)
  return codec === 'hevc' ? hevcVideoSize(record) : null
}

/** Video properties of an onMetaData object. */
export interface StreamMetadata {
  readonly width: number | null
  readonly height: number | null
  readonly fps: number | null
}

/**
 * Reads an onMetaData message, plain or wrapped in `@setDataFrame`; null for any other data message.
 *
 * @throws RtmpProtocolError when the body is not AMF0.
 */
export function readMetadata(payload: Buffer): StreamMetadata | null {
  const name = decodeFirstAmf0(payload)
  if (name !== 'onMetaData' && name !== '@setDataFrame') return null
  const values = decodeAmf0(payload)
  const at = values.indexOf('onMetaData')
  if (at < 0) return null
  const object = values[at + 1]
  if (object === null || typeof object !== 'object' || Array.isArray(object) || object instanceof Date) {
    return { width: null, height: null, fps: null }
  }
  return {
    width: positive(object['width']),
    height: positive(object['height']),
    fps: positive(object['framerate']) ?? positive(object['fps']),
  }
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null
}
