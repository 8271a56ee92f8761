import { readFileSync } from 'node:fs'
import { openMovie } from '../playout/movie.ts'
import type { Track } from '../playout/track.ts'
import { makeClip } from './ffmpeg.ts'
import { enhancedVideo } from './media-payloads.ts'
import type { TestPublisher } from './publisher.ts'

/** Codecs that only Enhanced RTMP supports. Clips are encoded by ffmpeg and packed into Enhanced RTMP messages here. */
export type EnhancedCodec = 'hevc' | 'av1' | 'vp9'

interface CodecFormat {
  readonly fourCc: string
  /** The box that contains the decoder configuration record, and the bytes to skip in it. */
  readonly config: readonly [box: string, skipped: number]
  readonly encoder: readonly string[]
}

const HEVC = ['-c:v', 'libx265', '-tag:v', 'hvc1', '-x265-params', 'log-level=error:bframes=2:open-gop=0']
const FORMATS: Readonly<Record<EnhancedCodec, CodecFormat>> = {
  hevc: { fourCc: 'hvc1', config: ['hvcC', 0], encoder: HEVC },
  av1: { fourCc: 'av01', config: ['av1C', 0], encoder: ['-c:v', 'libaom-av1', '-usage', 'realtime', '-cpu-used', '8'] },
  vp9: {
    fourCc: 'vp09',
    config: ['vpcC', 4],
    encoder: ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'],
  },
}
const CODED_FRAMES = 1
const CODED_FRAMES_X = 3
/** A ModEx with TimestampOffsetNano 0, followed by the packet type CodedFrames. */
const NANOSECONDS = Buffer.of(2, 0, 0, 0, CODED_FRAMES)
const TEMPORAL_DELIMITER = Buffer.of(0x12, 0x00)

export interface EnhancedMessage {
  readonly kind: 'video' | 'audio'
  /** Milliseconds. */
  readonly timestamp: number
  readonly payload: Buffer
}

/** Makes an MP4 file with video in the codec and Opus audio, with a keyframe every half second. */
export async function makeEnhancedClip(path: string, codec: EnhancedCodec, seconds: number): Promise<void> {
  await makeClip(path, { seconds, group: 15, extra: [...FORMATS[codec].encoder, '-c:a', 'libopus'] })
}

/** The messages that an encoder would send for the file: sequence headers, then interleaved frames. */
export async function enhancedMessages(path: string, codec: EnhancedCodec): Promise<EnhancedMessage[]> {
  const { fourCc } = FORMATS[codec]
  const bytes = readFileSync(path)
  const { audio, video } = await openMovie(path)
  const frames = [
    ...framesOf(bytes, video).map(({ composition, data, isKeyframe, timestamp }, index): EnhancedMessage => {
      const payload = videoBody(fourCc, { composition, data, isKeyframe }, index)
      return { kind: 'video', timestamp, payload }
    }),
    ...framesOf(bytes, audio).map(({ data, timestamp }): EnhancedMessage => {
      return { kind: 'audio', timestamp, payload: opus(CODED_FRAMES, data) }
    }),
  ]
  const [box, skipped] = FORMATS[codec].config
  const sequenceHeader = enhancedVideo(fourCc, 0, true, contentOf(bytes, box).subarray(skipped))
  return [
    { kind: 'video', timestamp: 0, payload: sequenceHeader },
    { kind: 'audio', timestamp: 0, payload: opus(0, opusHead(contentOf(bytes, 'dOps'))) },
    ...frames.toSorted((a, b) => a.timestamp - b.timestamp),
  ]
}

/** Sends all messages at once, with `offset` added to their timestamps. */
export function sendAll(publisher: TestPublisher, messages: readonly EnhancedMessage[], offset = 0): void {
  for (const { kind, payload, timestamp } of messages) publisher[kind](timestamp + offset, payload)
}

/** Uses all forms of encoders: with and without a composition time, with ModEx, with a temporal delimiter. */
function videoBody(
  fourCc: string,
  { composition, data, isKeyframe }: { composition: number; data: Buffer; isKeyframe: boolean },
  index: number,
): Buffer {
  if (fourCc === 'av01')
    return enhancedVideo(fourCc, CODED_FRAMES, isKeyframe, Buffer.concat([TEMPORAL_DELIMITER, data]))
  if (fourCc !== 'hvc1') return enhancedVideo(fourCc, CODED_FRAMES, isKeyframe, data)
  if (composition === 0) return enhancedVideo(fourCc, CODED_FRAMES_X, isKeyframe, data)
  const time = Buffer.alloc(3)
  time.writeIntBE(composition, 0, 3)
  const body = enhancedVideo(fourCc, CODED_FRAMES, isKeyframe, Buffer.concat([time, data]))
  if (index % 3 > 0) return body
  return Buffer.concat([Buffer.of((body[0]! & 0xf0) | 7), NANOSECONDS, body.subarray(1)])
}

function opus(packetType: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x90 | packetType), Buffer.from('Opus'), data])
}

/** Makes an OpusHead (RFC 7845, 5.1) from the content of a `dOps` box. */
function opusHead(dOps: Buffer): Buffer {
  const head = Buffer.alloc(19)
  head.write('OpusHead', 'latin1')
  head[8] = 1
  head[9] = dOps[1]!
  head.writeUInt16LE(dOps.readUInt16BE(2), 10)
  head.writeUInt32LE(dOps.readUInt32BE(4), 12)
  head.writeInt16LE(dOps.readInt16BE(8), 16)
  return head
}

function contentOf(bytes: Buffer, box: string): Buffer {
  const at = bytes.indexOf(box, 0, 'latin1')
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4))
}

function framesOf(bytes: Buffer, track: Track | undefined) {
  if (track === undefined) throw new Error('the clip has no such track')
  const { samples, timescale } = track
  const toMs = (time: number) => Math.round((time * 1_000) / timescale)
  return Array.from({ length: samples.length }, (_, index) => {
    const decoded = samples.decodeTime(index)
    return {
      timestamp: toMs(decoded),
      composition: toMs(decoded + samples.composition(index)) - toMs(decoded),
      isKeyframe: samples.isKeyframe(index),
      data: bytes.subarray(samples.offset(index), samples.offset(index) + samples.size(index)),
    }
  })
}
