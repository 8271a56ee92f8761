import { audioFormatOf } from '../playout/flv-bodies.ts'
import { inBandParameterSets } from '../rtmp/avc-record.ts'
import { av1VideoSize, temporalUnitVideoSize, withoutDelimiter } from '../rtmp/obu.ts'
import { avcVideoSize, hevcVideoSize, type VideoSize } from '../rtmp/sps.ts'
import { vp9VideoSize } from '../rtmp/vp9.ts'
import { box, full } from './box-writer.ts'
import type { RecordedTrack } from './fmp4.ts'
import { audioSampleEntry, dOps, esds, videoSampleEntry } from './sample-entries.ts'

/** How video of a codec is stored in MP4. */
interface VideoFormat {
  /** Type of the sample entry. */
  readonly format: string
  readonly brand?: string
  /** Makes the configuration box from the record in the sequence header; undefined when that is invalid. */
  readonly config: (record: Buffer) => Buffer | undefined
  readonly size: (record: Buffer, keyframe: Buffer) => VideoSize | null
  /** Converts a frame to a sample. */
  readonly sample?: (data: Buffer) => Buffer
}

const VIDEO_FORMATS: Readonly<Record<string, VideoFormat | undefined>> = {
  // ISO/IEC 14496-15, 5.4.2 and 8.4.1.
  h264: { format: 'avc1', config: (record) => box('avcC', record), size: avcVideoSize },
  hevc: { format: 'hvc1', config: (record) => box('hvcC', record), size: hevcVideoSize },
  // AV1-ISOBMFF 1.3, 2.2 to 2.4.
  av1: {
    format: 'av01',
    brand: 'av01',
    config: (record) => (record.length >= 4 && record[0] === 0x81 ? box('av1C', record) : undefined),
    size: (record, keyframe) => av1VideoSize(record) ?? temporalUnitVideoSize(keyframe),
    sample: withoutDelimiter,
  },
  // VP Codec ISO Media File Format Binding 1.0.
  vp9: { format: 'vp09', config: vpcC, size: (_record, keyframe) => vp9VideoSize(keyframe) },
}

/** Makes the sample entry of an audio track; undefined when the configuration is invalid. */
type AudioEntry = (config: Buffer) => Buffer | undefined

const AUDIO_ENTRIES: Readonly<Record<string, AudioEntry | undefined>> = {
  aac: (config) => {
    if (config.length < 2) return undefined
    const { audiochannels: channels, audiosamplerate: sampleRate } = audioFormatOf(config)
    return audioSampleEntry('mp4a', { channels, sampleRate }, esds(config))
  },
  // Encapsulation of Opus in ISO Base Media File Format 0.8.1, 4.3: the decoded sample rate is always 48 kHz.
  opus: (head) => {
    const isHead = head.length >= 19 && head.toString('latin1', 0, 8) === 'OpusHead' && head[9] !== 0
    return isHead ? audioSampleEntry('Opus', { channels: head[9]!, sampleRate: 48_000 }, dOps(head)) : undefined
  },
}

/** Whether a codec can be recorded. */
export function isRecordable(kind: 'video' | 'audio', codec: string | null): codec is string {
  return codec !== null && (kind === 'video' ? VIDEO_FORMATS : AUDIO_ENTRIES)[codec] !== undefined
}

/** Names of the codecs that {@link isRecordable}. */
export const RECORDABLE_CODECS = { video: 'H.264, HEVC, AV1 and VP9', audio: 'AAC and Opus' }

/**
 * Makes the video track; undefined when the configuration or the size of the video cannot be read.
 *
 * @param changes whether H.264 with other configurations may follow, such as a slate. Then the track is `avc3`, and each
 *   keyframe has its parameter sets in band (ISO/IEC 14496-15, 5.4.2).
 */
export function videoTrack(
  codec: string,
  record: Buffer,
  keyframe: Buffer,
  changes: boolean,
): RecordedTrack | undefined {
  const video = VIDEO_FORMATS[codec]
  const config = video?.config(record)
  const size = video?.size(record, keyframe) ?? null
  if (video === undefined || config === undefined || size === null) return undefined
  const { brand } = video
  const parameterSets = changes && codec === 'h264' ? inBandParameterSets(record) : undefined
  const format = parameterSets === undefined ? video.format : 'avc3'
  const entry = videoSampleEntry(format, size, config)
  return { id: 1, kind: 'video', entry, ...size, ...(brand && { brand }), ...(parameterSets && { parameterSets }) }
}

/** Makes the audio track; undefined when the configuration cannot be read. */
export function audioTrack(codec: string, config: Buffer): RecordedTrack | undefined {
  const entry = AUDIO_ENTRIES[codec]?.(config)
  return entry && { id: 2, kind: 'audio', entry, width: 0, height: 0 }
}

/** Converts a frame to an MP4 sample. */
export function toSample(codec: string, data: Buffer): Buffer {
  return VIDEO_FORMATS[codec]?.sample?.(data) ?? data
}

/** Makes a `vpcC` box. Some encoders send the record with version and flags of the box, others without. */
function vpcC(record: Buffer): Buffer | undefined {
  const bare = record.length >= 12 && record.readUInt32BE() === 0x100_0000 ? record.subarray(4) : record
  return bare.length >= 8 ? full('vpcC', 1, 0, bare) : undefined
}
