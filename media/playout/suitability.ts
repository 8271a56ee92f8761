import { avcPicture, type AvcPicture } from '../rtmp/sps.ts'
import { isMirrored, rotationOf } from './display-matrix.ts'
import { PlayoutError } from './errors.ts'
import { openMovie, type Movie } from './movie.ts'
import { objectTypeOf, soundOf } from './payloads.ts'
import { secondsOf, type Track } from './track.ts'

/** What a look into a file says of streaming it. */
export interface Suitability {
  /** Why it would not be shown right on every platform, in words; none when it can be streamed as it is. */
  readonly faults: readonly string[]
  readonly seconds: number
  readonly keyframeIntervalSeconds: number | null
}

/** The longest distance of keyframes that platforms take (YouTube, Facebook), with a little for rounding. */
const MOST_KEYFRAME_SECONDS = 4.1
/** What YouTube takes at most; no other platform takes more. */
const MOST_BITRATE = 51_000_000
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
/** The most pictures a second that platforms take (YouTube, Twitch, Facebook), with a little for rounding. */
const MOST_FRAME_RATE = 61
/** What YouTube, Twitch and Facebook name for sound. */
const SAMPLE_RATES = new Set([44_100, 48_000])
/** By `chroma_format_idc`. */
const CHROMA_NAMES = ['grey', '4:2:0', '4:2:2', '4:4:4']
/** By `transfer_characteristics` (ITU-T H.273, table 3). */
const HDR_NAMES: Readonly<Record<number, string>> = { 16: 'PQ', 18: 'HLG' }
/** By audio object type (ISO/IEC 14496-3, table 1.17). */
const AAC_LC = 2
const AAC_NAMES: Readonly<Record<number, string>> = { 1: 'AAC Main', 5: 'HE-AAC', 29: 'HE-AAC v2', 42: 'xHE-AAC' }
/** What an edit list may hide without anybody noticing: encoder delay of the sound, the rest of its last frame. */
const MOST_HIDDEN_LEAD_SECONDS = 0.1
const MOST_HIDDEN_TAIL_SECONDS = 0.25
/** Further pictures in the order of decoding cannot be shown before these. */
const MOST_REORDERED = 16

/** Looks into a file. Never rejects for what is wrong with it: that is what it tells. */
export async function judgeFile(path: string): Promise<Suitability> {
  try {
    return suitabilityOf(await openMovie(path))
  } catch (error) {
    if (!(error instanceof PlayoutError)) throw error
    return { faults: [error.message], seconds: 0, keyframeIntervalSeconds: null }
  }
}

/** Judges a file by its tables and the headers of its codecs; the pictures themselves are not looked at. */
export function suitabilityOf(movie: Movie): Suitability {
  const { audio, bytes, video } = movie
  const seconds = Math.max(...[video, audio].map((track) => (track === undefined ? 0 : secondsOf(track))))
  const interval = video === undefined ? null : keyframeInterval(video)
  const faults = [...videoFaults(video), ...audioFaults(audio)]
  if (interval !== null && interval > MOST_KEYFRAME_SECONDS) {
    faults.push(`Its keyframes are up to ${interval.toFixed(1)} s apart; live platforms take at most 4 s.`)
  }
  const bitrate = seconds > 0 ? (bytes * 8) / seconds : 0
  if (bitrate > MOST_BITRATE) {
    faults.push(`It has ${Math.round(bitrate / 1_000_000)} Mb/s; no live platform takes more than 51.`)
  }
  return { faults, seconds, keyframeIntervalSeconds: interval }
}

function videoFaults(video: Track | undefined): string[] {
  if (video === undefined) return ['It has no picture.']
  const { config, format } = video
  if (format !== 'avc1' && format !== 'avc3') {
    return [`Its picture is ${VIDEO_NAMES[format] ?? `coded as ${format}`}; live platforms take H.264.`]
  }
  // A configuration without parameter sets: they come within the pictures, where RTMP does not look for them.
  const picture = avcPicture(config)
  if (config.length < 8 || picture === null) return ['Its picture lacks its parameters (SPS and PPS).']
  return [
    ...sampleFaults(picture),
    ...displayFaults(video, picture),
    ...timingFaults(video),
    ...editFaults(video, 'picture'),
  ]
}

/** What the pictures are made of. */
function sampleFaults({ bitDepth, chromaFormat, height, interlaced, width }: AvcPicture): string[] {
  const faults = []
  if (bitDepth !== 8) faults.push(`Its picture has ${bitDepth} bits a sample; live platforms take 8.`)
  if (chromaFormat !== 1) faults.push(`Its colour is ${CHROMA_NAMES[chromaFormat]}; live platforms take 4:2:0.`)
  if (width % 2 !== 0 || height % 2 !== 0) {
    faults.push(`Its picture has ${width} × ${height} pixels; live platforms take even numbers.`)
  }
  if (interlaced) faults.push('Its picture is interlaced; live platforms take progressive video.')
  return faults
}

/** What a player does with the pictures before it shows them, and RTMP cannot ask for. */
function displayFaults(video: Track, picture: AvcPicture): string[] {
  const faults = []
  const rotation = rotationOf(video.matrix)
  if (rotation !== 0)
    faults.push(`It is turned by ${rotation}° when it is played; a live stream would show it unturned.`)
  if (isMirrored(video.matrix)) faults.push('It is mirrored when it is played; a live stream would show it unmirrored.')
  const pixelAspect = video.pixelAspect ?? picture.pixelAspect ?? 1
  if (Math.abs(pixelAspect - 1) > 0.01) {
    faults.push(`Its pixels are ${pixelAspect.toFixed(2)} times as wide as high; live platforms take square ones.`)
  }
  const hdr = HDR_NAMES[video.transfer ?? picture.transfer ?? 0]
  if (hdr !== undefined) faults.push(`Its colour is HDR (${hdr}); live platforms take SDR.`)
  return faults
}

function timingFaults(video: Track): string[] {
  const faults = []
  const seconds = secondsOf(video)
  const rate = seconds > 0 ? video.samples.length / seconds : 0
  if (rate > MOST_FRAME_RATE) {
    faults.push(`It has ${Math.round(rate)} pictures a second; no live platform takes more than 60.`)
  }
  if (hasOpenGroups(video)) {
    faults.push(
      'Its groups of pictures are open; live platforms take closed ones, which can be joined at each keyframe.',
    )
  }
  return faults
}

/** RTMP has no edit lists: everything that is in the file is sent. */
function editFaults(track: Track, what: 'picture' | 'sound'): string[] {
  const { edits, end, entryCount, samples, timescale } = track
  if (entryCount > 1) return [`The coding of its ${what} changes on the way; live platforms take one.`]
  if (edits.isCut) return [`Its edit list cuts the ${what} into pieces; a live stream would show what was cut out.`]
  const first = firstShown(track)
  const lead = (edits.from - first) / timescale
  const shownEnd = end + first - samples.decodeTime(0)
  const tail = edits.to === null ? 0 : (shownEnd - edits.to) / timescale
  const faults = []
  if (lead > MOST_HIDDEN_LEAD_SECONDS) {
    faults.push(`Its edit list hides the first ${lead.toFixed(1)} s of the ${what}; a live stream would show them.`)
  }
  if (tail > MOST_HIDDEN_TAIL_SECONDS) {
    faults.push(`Its edit list hides the last ${tail.toFixed(1)} s of the ${what}; a live stream would show them.`)
  }
  return faults
}

function audioFaults(audio: Track | undefined): string[] {
  if (audio === undefined) return ['It has no sound; live platforms want sound, if only silence.']
  const { config, format } = audio
  if (format !== 'mp4a' || config.length < 2) {
    return [`Its sound is ${AUDIO_NAMES[format] ?? `coded as ${format}`}; live platforms take AAC.`]
  }
  const faults = []
  const objectType = objectTypeOf(config)
  const { audiochannels: channels, audiosamplerate: rate } = soundOf(config)
  if (objectType !== AAC_LC) {
    faults.push(`Its sound is ${AAC_NAMES[objectType] ?? `AAC of type ${objectType}`}; live platforms take AAC-LC.`)
  }
  if (channels !== 1 && channels !== 2) {
    faults.push(`Its sound has ${channelsInWords(channels)}; live platforms take mono and stereo.`)
  }
  // HE-AAC names half of its rate.
  if (objectType === AAC_LC && !SAMPLE_RATES.has(rate)) {
    faults.push(`Its sound has ${rate} Hz; live platforms take 44100 and 48000.`)
  }
  return [...faults, ...editFaults(audio, 'sound')]
}

/** By `channelConfiguration` (ISO/IEC 14496-3, table 1.19). */
function channelsInWords(configuration: number): string {
  if (configuration === 6) return '6 channels (5.1)'
  if (configuration === 7) return '8 channels (7.1)'
  return configuration === 0 ? 'a channel layout of its own' : `${configuration} channels`
}

/** The earliest time that a picture is shown at, on the track's own line. */
function firstShown({ samples }: Track): number {
  let first = Infinity
  for (let index = 0; index < Math.min(samples.length, MOST_REORDERED); index += 1) {
    first = Math.min(first, samples.decodeTime(index) + samples.composition(index))
  }
  return first
}

/** Whether pictures are decoded after a keyframe and shown before it: those refer to the group before. */
function hasOpenGroups({ samples }: Track): boolean {
  let keyframe = -Infinity
  let since = MOST_REORDERED
  for (let index = 0; index < samples.length; index += 1) {
    const shown = samples.decodeTime(index) + samples.composition(index)
    if (samples.isKeyframe(index)) [keyframe, since] = [shown, 0]
    else if (since++ < MOST_REORDERED && shown < keyframe) return true
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
