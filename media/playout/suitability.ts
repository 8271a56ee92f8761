import { avcFormat, type AvcFormat } from '../rtmp/sps.ts'
import { isMirrored, rotationOf } from './display-matrix.ts'
import { PlayoutError } from './errors.ts'
import { openMovie, type Movie } from './movie.ts'
import { audioFormatOf, objectTypeOf } from './flv-bodies.ts'
import { secondsOf, type Track } from './track.ts'

/** Whether a file can be streamed without conversion. */
export interface Suitability {
  /** Why it would not play correctly on every platform; empty if it can be streamed. */
  readonly faults: readonly string[]
  readonly seconds: number
  readonly keyframeIntervalSeconds: number | null
}

/** Longest keyframe interval that platforms accept (YouTube, Facebook), with a margin for rounding. */
const MAX_KEYFRAME_SECONDS = 4.1
/** The maximum of YouTube. No other platform accepts more. */
const MAX_BITRATE = 51_000_000
const VIDEO_NAMES: Readonly<Record<string, string>> = {
  hvc1: 'HEVC',
  hev1: 'HEVC',
  av01: 'AV1',
  vp09: 'VP9',
  vp08: 'VP8',
  mp4v: 'MPEG-4 Part 2',
  apcn: 'ProRes',
  apch: 'ProRes',
  encv: 'encrypted',
}
const AUDIO_NAMES: Readonly<Record<string, string>> = {
  Opus: 'Opus',
  fLaC: 'FLAC',
  'ac-3': 'AC-3',
  'ec-3': 'E-AC-3',
  alac: 'ALAC',
  '.mp3': 'MP3',
  enca: 'encrypted',
}
/** Highest frame rate that platforms accept (YouTube, Twitch, Facebook), with a margin for rounding. */
const MAX_FRAME_RATE = 61
/** Audio sample rates that YouTube, Twitch and Facebook document. */
const SAMPLE_RATES = new Set([44_100, 48_000])
/** By `chroma_format_idc`. */
const CHROMA_NAMES = ['4:0:0', '4:2:0', '4:2:2', '4:4:4']
/** By `transfer_characteristics` (ITU-T H.273, table 3). */
const HDR_NAMES: Readonly<Record<number, string>> = { 16: 'PQ', 18: 'HLG' }
/** By audio object type (ISO/IEC 14496-3, table 1.17). */
const AAC_LC = 2
const AAC_NAMES: Readonly<Record<number, string>> = { 1: 'AAC Main', 5: 'HE-AAC', 29: 'HE-AAC v2', 42: 'xHE-AAC' }
/** Edit lists may hide the encoder delay of audio and the rest of its last frame. */
const MAX_HIDDEN_START_SECONDS = 0.1
const MAX_HIDDEN_END_SECONDS = 0.25
/** Largest number of frames by which decoding and presentation order differ. */
const MAX_REORDERED = 16

/** Checks a file. A file that cannot be parsed is a fault, not a rejection. */
export async function checkFile(path: string): Promise<Suitability> {
  try {
    return checkMovie(await openMovie(path))
  } catch (error) {
    if (!(error instanceof PlayoutError)) throw error
    return { faults: [error.message], seconds: 0, keyframeIntervalSeconds: null }
  }
}

/** Checks a file by its tables and decoder configurations, without decoding it. */
export function checkMovie(movie: Movie): Suitability {
  const { audio, bytes, video } = movie
  const seconds = Math.max(...[video, audio].map((track) => (track === undefined ? 0 : secondsOf(track))))
  const interval = video === undefined ? null : keyframeInterval(video)
  const faults = [...videoFaults(video), ...audioFaults(audio)]
  if (interval !== null && interval > MAX_KEYFRAME_SECONDS) {
    faults.push(`The keyframe interval is up to ${interval.toFixed(1)} s. Live platforms accept at most 4 s.`)
  }
  const bitrate = seconds > 0 ? (bytes * 8) / seconds : 0
  if (bitrate > MAX_BITRATE) {
    const megabits = Math.round(bitrate / 1_000_000)
    faults.push(`The bitrate is ${megabits} Mbit/s. No live platform accepts more than 51 Mbit/s.`)
  }
  return { faults, seconds, keyframeIntervalSeconds: interval }
}

function videoFaults(video: Track | undefined): string[] {
  if (video === undefined) return ['It has no video.']
  const { config, format } = video
  if (format !== 'avc1' && format !== 'avc3') {
    return [`The video is ${VIDEO_NAMES[format] ?? `in the format ${format}`}. Live platforms accept H.264.`]
  }
  // Without parameter sets in `avcC` they are in band, but RTMP needs them in the sequence header.
  const picture = avcFormat(config)
  if (config.length < 8 || picture === null) return ['The video track has no parameter sets (SPS and PPS).']
  return [
    ...formatFaults(picture),
    ...displayFaults(video, picture),
    ...timingFaults(video),
    ...editFaults(video, 'video'),
  ]
}

/** Faults of the picture format. */
function formatFaults({ bitDepth, chromaFormat, height, interlaced, width }: AvcFormat): string[] {
  const faults = []
  if (bitDepth !== 8) faults.push(`The video is ${bitDepth}-bit. Live platforms accept 8-bit.`)
  if (chromaFormat !== 1)
    faults.push(`The chroma format is ${CHROMA_NAMES[chromaFormat]}. Live platforms accept 4:2:0.`)
  if (width % 2 !== 0 || height % 2 !== 0) {
    faults.push(`The picture has ${width} × ${height} pixels. Live platforms require even numbers.`)
  }
  if (interlaced) faults.push('The video is interlaced. Live platforms accept progressive video.')
  return faults
}

/** Faults of properties that players apply before display and RTMP cannot signal. */
function displayFaults(video: Track, picture: AvcFormat): string[] {
  const faults = []
  const rotation = rotationOf(video.matrix)
  if (rotation !== 0)
    faults.push(`Players rotate the video by ${rotation}°. A live stream would show it without rotation.`)
  if (isMirrored(video.matrix)) faults.push('Players mirror the video. A live stream would show it unmirrored.')
  const pixelAspect = video.pixelAspect ?? picture.pixelAspect ?? 1
  if (Math.abs(pixelAspect - 1) > 0.01) {
    faults.push(`The pixels are ${pixelAspect.toFixed(2)} times as wide as high. Live platforms accept square pixels.`)
  }
  const hdr = HDR_NAMES[video.transfer ?? picture.transfer ?? 0]
  if (hdr !== undefined) faults.push(`The video is HDR (${hdr}). Live platforms accept SDR.`)
  return faults
}

function timingFaults(video: Track): string[] {
  const faults = []
  const seconds = secondsOf(video)
  const rate = seconds > 0 ? video.samples.length / seconds : 0
  if (rate > MAX_FRAME_RATE) {
    faults.push(`The frame rate is ${Math.round(rate)} frames per second. No live platform accepts more than 60.`)
  }
  if (hasOpenGops(video)) {
    faults.push(
      'The video has open GOPs. Live platforms require closed GOPs, so that viewers can join at each keyframe.',
    )
  }
  return faults
}

/** Faults of edit lists. RTMP has none, so all media in the file is sent. */
function editFaults(track: Track, kind: 'video' | 'audio'): string[] {
  const { edits, end, entryCount, samples, timescale } = track
  if (entryCount > 1) return [`The format of the ${kind} changes within the file. Live platforms accept only one.`]
  if (edits.isCut) return [`The edit list cuts the ${kind} into parts. A live stream would include what was cut out.`]
  const first = firstPresentationTime(track)
  const hiddenStart = (edits.from - first) / timescale
  const presentationEnd = end + first - samples.decodeTime(0)
  const hiddenEnd = edits.to === null ? 0 : (presentationEnd - edits.to) / timescale
  const faults = []
  const consequence = 'A live stream would include them.'
  if (hiddenStart > MAX_HIDDEN_START_SECONDS) {
    faults.push(`The edit list hides the first ${hiddenStart.toFixed(1)} s of the ${kind}. ${consequence}`)
  }
  if (hiddenEnd > MAX_HIDDEN_END_SECONDS) {
    faults.push(`The edit list hides the last ${hiddenEnd.toFixed(1)} s of the ${kind}. ${consequence}`)
  }
  return faults
}

function audioFaults(audio: Track | undefined): string[] {
  if (audio === undefined) return ['It has no audio. Live platforms require an audio track, even if it is silent.']
  const { config, format } = audio
  if (format !== 'mp4a' || config.length < 2) {
    return [`The audio is ${AUDIO_NAMES[format] ?? `in the format ${format}`}. Live platforms accept AAC.`]
  }
  const faults = []
  const objectType = objectTypeOf(config)
  const { audiochannels: channels, audiosamplerate: rate } = audioFormatOf(config)
  if (objectType !== AAC_LC) {
    faults.push(`The audio is ${AAC_NAMES[objectType] ?? `AAC of type ${objectType}`}. Live platforms accept AAC-LC.`)
  }
  if (channels !== 1 && channels !== 2) {
    faults.push(`The audio has ${channelsText(channels)}. Live platforms accept mono and stereo.`)
  }
  // HE-AAC signals half of its sample rate.
  if (objectType === AAC_LC && !SAMPLE_RATES.has(rate)) {
    faults.push(`The sample rate of the audio is ${rate} Hz. Live platforms accept 44100 and 48000 Hz.`)
  }
  return [...faults, ...editFaults(audio, 'audio')]
}

/** Describes a `channelConfiguration` (ISO/IEC 14496-3, table 1.19). */
function channelsText(configuration: number): string {
  if (configuration === 6) return '6 channels (5.1)'
  if (configuration === 7) return '8 channels (7.1)'
  return configuration === 0 ? 'a custom channel layout' : `${configuration} channels`
}

/** Earliest presentation time of a track, in units of its timescale and without edits. */
function firstPresentationTime({ samples }: Track): number {
  let first = Infinity
  for (let index = 0; index < Math.min(samples.length, MAX_REORDERED); index += 1) {
    first = Math.min(first, samples.decodeTime(index) + samples.composition(index))
  }
  return first
}

/** Whether frames are decoded after a keyframe and presented before it. They refer to the previous GOP. */
function hasOpenGops({ samples }: Track): boolean {
  let keyframe = -Infinity
  let since = MAX_REORDERED
  for (let index = 0; index < samples.length; index += 1) {
    const shown = samples.decodeTime(index) + samples.composition(index)
    if (samples.isKeyframe(index)) [keyframe, since] = [shown, 0]
    else if (since++ < MAX_REORDERED && shown < keyframe) return true
  }
  return false
}

function keyframeInterval(track: Track): number | null {
  const { end, samples, timescale } = track
  let longest = 0
  let last: number | undefined
  for (let index = 0; index < samples.length; index += 1) {
    if (!samples.isKeyframe(index)) continue
    const time = samples.decodeTime(index)
    if (last !== undefined) longest = Math.max(longest, time - last)
    last = time
  }
  if (last === undefined) return secondsOf(track)
  return Math.max(longest, end - last) / timescale
}
