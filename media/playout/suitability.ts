import { PlayoutError } from './errors.ts'
import { openMovie, type Movie } from './movie.ts'
import type { Track } from './track.ts'

/** What a look into a file says of streaming it. */
export interface Suitability {
  /** Why no platform would take it, in words; none when it can be streamed as it is. */
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
/** profile_idc of H.264 with more than 8 bits a sample, or with more colour than 4:2:0. */
const STUDIO_PROFILES = new Set([110, 122, 244, 44])

/** Looks into a file. Never rejects for what is wrong with it: that is what it tells. */
export async function judgeFile(path: string): Promise<Suitability> {
  try {
    return suitabilityOf(await openMovie(path))
  } catch (error) {
    if (!(error instanceof PlayoutError)) throw error
    return { faults: [error.message], seconds: 0, keyframeIntervalSeconds: null }
  }
}

export function suitabilityOf(movie: Movie): Suitability {
  const { audio, bytes, video } = movie
  const seconds = Math.max(secondsOf(video), secondsOf(audio))
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
  if (config.length < 8 || (config[5]! & 0x1f) === 0) return ['Its picture lacks its parameters (SPS and PPS).']
  if (STUDIO_PROFILES.has(config[1]!))
    return ['Its picture has 10 bits or 4:2:2 colour; live platforms take 8-bit 4:2:0.']
  return []
}

function audioFaults(audio: Track | undefined): string[] {
  if (audio === undefined) return ['It has no sound; live platforms want sound, if only silence.']
  const { config, format } = audio
  if (format !== 'mp4a' || config.length < 2) {
    return [`Its sound is ${AUDIO_NAMES[format] ?? `coded as ${format}`}; live platforms take AAC.`]
  }
  return []
}

function secondsOf(track: Track | undefined): number {
  return track === undefined ? 0 : track.end / track.timescale
}

function keyframeInterval({ end, samples, timescale }: Track): number | null {
  let longest = 0
  let last: number | undefined
  for (let index = 0; index < samples.length; index += 1) {
    if (!samples.isKeyframe(index)) continue
    const time = samples.decodeTime(index)
    if (last !== undefined) longest = Math.max(longest, time - last)
    last = time
  }
  if (last === undefined) return end / timescale
  return Math.max(longest, end - last) / timescale
}
