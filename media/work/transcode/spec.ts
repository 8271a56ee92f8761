import { MediaWorkError } from '../errors.ts'
import { IMAGE_PRESETS, VIDEO_PRESETS, type ImagePreset, type VideoPreset } from './presets.ts'

/** Aspect ratios of posts, as width over height. */
export const ASPECTS = { '1:1': 1, '4:5': 4 / 5, '9:16': 9 / 16, '16:9': 16 / 9 } as const
export type Aspect = keyof typeof ASPECTS

interface Framing {
  /** Maximum dimensions of the output in pixels. Nothing is enlarged unless a preset requires it. */
  readonly maxWidth?: number
  readonly maxHeight?: number
  /** Aspect ratio of the output. Defaults to that of the source. */
  readonly aspect?: Aspect
  /** How to reach the aspect ratio: crop two sides (default), or pad with bars. */
  readonly fit?: 'crop' | 'pad'
  /** Maximum size of the output in bytes. If it cannot be reached, the job fails with `too_large`. */
  readonly maxBytes?: number
}

interface Timing {
  /** The part to keep, in seconds of the source. */
  readonly trim?: { readonly from?: number; readonly to?: number }
  /** Target loudness in LUFS. Defaults to -14. Null leaves the loudness unchanged. */
  readonly loudness?: number | null
  readonly audioKbps?: number
}

/** H.264 and AAC in an MP4 that can be played while it loads. Settings override those of the preset. */
export interface VideoSpec extends Framing, Timing {
  readonly kind: 'video'
  readonly preset?: VideoPreset
  /** Maximum frame rate. */
  readonly fps?: number
  /** Constant rate factor, 10 (best) to 40. Defaults to 21. */
  readonly crf?: number
  /** Maximum bitrate of the video track. */
  readonly videoKbps?: number
  readonly mute?: boolean
}

/** An image, made from an image, a document or the first frame of an animation. */
export interface ImageSpec extends Framing {
  readonly kind: 'image'
  readonly preset?: ImagePreset
  /** Defaults to JPEG. */
  readonly format?: 'jpeg' | 'png' | 'webp'
  /** 1 to 100. Defaults to 82. Lowered if `maxBytes` requires it. */
  readonly quality?: number
}

/** Audio only: AAC in MP4, or MP3. */
export interface AudioSpec extends Timing {
  readonly kind: 'audio'
  readonly format?: 'm4a' | 'mp3'
  readonly maxBytes?: number
}

export type TranscodeSpec = VideoSpec | ImageSpec | AudioSpec

const NUMBERS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  maxWidth: [16, 7680],
  maxHeight: [16, 7680],
  maxBytes: [10_000, 64 * 2 ** 30],
  loudness: [-40, -5],
  audioKbps: [24, 512],
  fps: [1, 120],
  crf: [10, 40],
  videoKbps: [50, 100_000],
  quality: [1, 100],
}
const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  aspect: Object.keys(ASPECTS),
  fit: ['crop', 'pad'],
  mute: [true, false],
}
const FRAMING = ['maxWidth', 'maxHeight', 'aspect', 'fit', 'maxBytes']
const TIMING = ['trim', 'loudness', 'audioKbps']
const KEYS: Readonly<Record<TranscodeSpec['kind'], readonly string[]>> = {
  video: [...FRAMING, ...TIMING, 'preset', 'fps', 'crf', 'videoKbps', 'mute'],
  image: [...FRAMING, 'preset', 'format', 'quality'],
  audio: [...TIMING, 'format', 'maxBytes'],
}
const CHOICES_BY_KIND: Readonly<Record<TranscodeSpec['kind'], Readonly<Record<string, readonly unknown[]>>>> = {
  video: { ...CHOICES, preset: Object.keys(VIDEO_PRESETS) },
  image: { ...CHOICES, preset: Object.keys(IMAGE_PRESETS), format: ['jpeg', 'png', 'webp'] },
  audio: { format: ['m4a', 'mp3'] },
}

/**
 * Checks settings. Only numbers within bounds and values from a list reach the arguments of ffmpeg.
 * @throws MediaWorkError `invalid_settings`
 */
export function checkSpec(spec: TranscodeSpec): void {
  const keys = KEYS[spec.kind] as readonly string[] | undefined
  if (keys === undefined) throw invalid('kind must be "video", "image" or "audio".')
  const choices = CHOICES_BY_KIND[spec.kind]
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'kind' || value === undefined) continue
    if (!keys.includes(key)) throw invalid(`The setting ${key} does not apply to ${spec.kind}.`)
    if (key === 'trim') checkTrim(value as { from?: unknown; to?: unknown })
    else if (choices[key] !== undefined) {
      if (!choices[key].includes(value)) throw invalid(`${key} must be one of: ${choices[key].join(', ')}.`)
    } else if (!(key === 'loudness' && value === null)) {
      const [min, max] = NUMBERS[key] ?? [0, 0]
      if (!isNumber(value) || value < min || value > max)
        throw invalid(`${key} must be a number from ${min} to ${max}.`)
    }
  }
}

function checkTrim(trim: { from?: unknown; to?: unknown } | null): void {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = trim ?? { from: null }
  if (!isNumber(from) || !isNumber(to) || from < 0 || to <= from) {
    throw invalid('trim must be { from, to } in seconds, with from less than to.')
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function invalid(message: string): MediaWorkError {
  return new MediaWorkError('invalid_settings', message)
}
