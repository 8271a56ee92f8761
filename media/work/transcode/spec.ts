import { MediaWorkError } from '../errors.ts'
import { IMAGE_PRESETS, VIDEO_PRESETS, type ImagePreset, type VideoPreset } from './presets.ts'

/** Shapes that posts have, as width over height. */
export const ASPECTS = { '1:1': 1, '4:5': 4 / 5, '9:16': 9 / 16, '16:9': 16 / 9 } as const
export type Aspect = keyof typeof ASPECTS

interface Framing {
  /** The box that the result fits in, in pixels. Nothing is enlarged unless a preset needs it. */
  readonly maxWidth?: number
  readonly maxHeight?: number
  /** The shape of the result; that of the source by default. */
  readonly aspect?: Aspect
  /** What makes the shape: cutting off on both sides (the default), or bars. */
  readonly fit?: 'crop' | 'pad'
  /** The result has no more bytes than this, or the job fails as `too_large`. */
  readonly maxBytes?: number
}

interface Timing {
  /** Seconds in the source. */
  readonly trim?: { readonly from?: number; readonly to?: number }
  /** In LUFS; -14 by default, null leaves the sound as loud as it is. */
  readonly loudness?: number | null
  readonly audioKbps?: number
}

/** H.264 and AAC in an MP4 that starts to play before it is loaded. Settings stand over those of the preset. */
export interface VideoSpec extends Framing, Timing {
  readonly kind: 'video'
  readonly preset?: VideoPreset
  /** The most frames a second. */
  readonly fps?: number
  /** Quality, 10 (best) to 40; 21 by default. */
  readonly crf?: number
  /** The most that it takes at any time. */
  readonly videoKbps?: number
  readonly mute?: boolean
}

/** Of pictures, drawings and documents; of an animation the first frame. */
export interface ImageSpec extends Framing {
  readonly kind: 'image'
  readonly preset?: ImagePreset
  /** JPEG by default. */
  readonly format?: 'jpeg' | 'png' | 'webp'
  /** 1 to 100; 82 by default, and less where `maxBytes` asks for it. */
  readonly quality?: number
}

/** The sound alone, AAC in MP4 or MP3. */
export interface AudioSpec extends Timing {
  readonly kind: 'audio'
  readonly format?: 'm4a' | 'mp3'
  readonly maxBytes?: number
}

export type TranscodeSpec = VideoSpec | ImageSpec | AudioSpec

const NUMBERS: Readonly<Record<string, readonly [least: number, most: number]>> = {
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
 * Nothing reaches the arguments of ffmpeg that is not a number within bounds or one of a list.
 * @throws MediaWorkError `invalid_settings`
 */
export function checkSpec(spec: TranscodeSpec): void {
  const keys = KEYS[spec.kind] as readonly string[] | undefined
  if (keys === undefined) throw wrong('kind is "video", "image" or "audio".')
  const choices = CHOICES_BY_KIND[spec.kind]
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'kind' || value === undefined) continue
    if (!keys.includes(key)) throw wrong(`There is no setting ${key} for ${spec.kind}.`)
    if (key === 'trim') checkTrim(value as { from?: unknown; to?: unknown })
    else if (choices[key] !== undefined) {
      if (!choices[key].includes(value)) throw wrong(`${key} is one of: ${choices[key].join(', ')}.`)
    } else if (!(key === 'loudness' && value === null)) {
      const [least, most] = NUMBERS[key] ?? [0, 0]
      if (!isNumber(value) || value < least || value > most) throw wrong(`${key} is a number from ${least} to ${most}.`)
    }
  }
}

function checkTrim(trim: { from?: unknown; to?: unknown } | null): void {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = trim ?? { from: null }
  if (!isNumber(from) || !isNumber(to) || from < 0 || to <= from) {
    throw wrong('trim is { from, to } in seconds, from before to.')
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function wrong(message: string): MediaWorkError {
  return new MediaWorkError('invalid_settings', message)
}
