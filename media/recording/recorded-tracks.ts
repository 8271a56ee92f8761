import { audioFormatOf } from '../playout/flv-bodies.ts'
import { inBandParameterSets } from '../rtmp/avc-record.ts'
import { av1PictureSize, temporalUnitPictureSize, withoutDelimiter } from '../rtmp/obu.ts'
import { avcPictureSize, hevcPictureSize, type PictureSize } from '../rtmp/sps.ts'
import { vp9PictureSize } from '../rtmp/vp9.ts'
import { box, full } from './box-writer.ts'
import type { RecordedTrack } from './fmp4.ts'
import { elementaryStream, opusSpecific, pictureEntry, soundEntry } from './sample-entries.ts'

/** How a codec is laid down in a file, from what a publisher sends of it. */
interface PictureCoding {
  readonly format: string
  readonly brand?: string
  /** The box of the configuration, from the record that was sent; undefined when that is none. */
  readonly config: (record: Buffer) => Buffer | undefined
  readonly size: (record: Buffer, keyframe: Buffer) => PictureSize | null
  /** What a frame is in a file. */
  readonly sample?: (data: Buffer) => Buffer
}

const PICTURES: Readonly<Record<string, PictureCoding | undefined>> = {
  // ISO/IEC 14496-15, 5.4.2 and 8.4.1.
  h264: { format: 'avc1', config: (record) => box('avcC', record), size: avcPictureSize },
  hevc: { format: 'hvc1', config: (record) => box('hvcC', record), size: hevcPictureSize },
  // AV1-ISOBMFF 1.3, 2.2 to 2.4.
  av1: {
    format: 'av01',
    brand: 'av01',
    config: (record) => (record.length >= 4 && record[0] === 0x81 ? box('av1C', record) : undefined),
    size: (record, keyframe) => av1PictureSize(record) ?? temporalUnitPictureSize(keyframe),
    sample: withoutDelimiter,
  },
  // VP Codec ISO Media File Format Binding 1.0.
  vp9: { format: 'vp09', config: vpcC, size: (_record, keyframe) => vp9PictureSize(keyframe) },
}

type SoundCoding = (config: Buffer) => Buffer | undefined

const SOUNDS: Readonly<Record<string, SoundCoding | undefined>> = {
  aac: (config) => {
    if (config.length < 2) return undefined
    const { audiochannels: channels, audiosamplerate: sampleRate } = audioFormatOf(config)
    return soundEntry('mp4a', { channels, sampleRate }, elementaryStream(config))
  },
  // Encapsulation of Opus in ISO Base Media File Format 0.8.1, 4.3: whatever was encoded, 48 kHz come out.
  opus: (head) => {
    const isHead = head.length >= 19 && head.toString('latin1', 0, 8) === 'OpusHead' && head[9] !== 0
    return isHead ? soundEntry('Opus', { channels: head[9]!, sampleRate: 48_000 }, opusSpecific(head)) : undefined
  },
}

/** Whether pictures or sound in a codec can be recorded. */
export function isRecorded(kind: 'video' | 'audio', codec: string | null): codec is string {
  return codec !== null && (kind === 'video' ? PICTURES : SOUNDS)[codec] !== undefined
}

/** The names of what {@link isRecorded}. */
export const RECORDED = { video: 'H.264, HEVC, AV1 and VP9', audio: 'AAC and Opus' }

/**
 * The track of pictures; undefined when its configuration or the size of its pictures cannot be read.
 * @param changes whether H.264 in other configurations is to follow, such as a slate: then each keyframe comes with its
 *   parameter sets (ISO/IEC 14496-15, 5.4.2, `avc3`)
 */
export function pictureTrack(
  codec: string,
  record: Buffer,
  keyframe: Buffer,
  changes: boolean,
): RecordedTrack | undefined {
  const coding = PICTURES[codec]
  const config = coding?.config(record)
  const size = coding?.size(record, keyframe) ?? null
  if (coding === undefined || config === undefined || size === null) return undefined
  const { brand } = coding
  const parameterSets = changes && codec === 'h264' ? inBandParameterSets(record) : undefined
  const format = parameterSets === undefined ? coding.format : 'avc3'
  const entry = pictureEntry(format, size, config)
  return { id: 1, kind: 'video', entry, ...size, ...(brand && { brand }), ...(parameterSets && { parameterSets }) }
}

/** The track of sound; undefined when its configuration cannot be read. */
export function soundTrack(codec: string, config: Buffer): RecordedTrack | undefined {
  const entry = SOUNDS[codec]?.(config)
  return entry && { id: 2, kind: 'audio', entry, width: 0, height: 0 }
}

/** A frame as a file has it. */
export function sampleOf(codec: string, data: Buffer): Buffer {
  return PICTURES[codec]?.sample?.(data) ?? data
}

/** Encoders send the record with and without the version of the box that holds it in a file. */
function vpcC(record: Buffer): Buffer | undefined {
  const bare = record.length >= 12 && record.readUInt32BE() === 0x100_0000 ? record.subarray(4) : record
  return bare.length >= 8 ? full('vpcC', 1, 0, bare) : undefined
}
