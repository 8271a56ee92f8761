import type { PostMedia } from '../content.ts'
import { kindFor, mostOf, type MediaKind } from './check-media.ts'
import { listOf, numberOf, type Limits } from './limits.ts'
import type { RuleId } from './rule.ts'

/** Settings of a rendition, in the terms of POST /api/assets/{id}/renditions. */
export interface RenditionRequest {
  readonly codec: 'h264' | 'jpeg' | 'png' | 'webp'
  readonly width?: number
  readonly height?: number
  readonly crop?: Shape
  readonly fit?: 'crop' | 'pad'
  readonly trim?: { readonly to: number }
  readonly fps?: number
  readonly maxBytes?: number
}

type Shape = keyof typeof SHAPES
const SHAPES = { '1:1': 1, '4:5': 4 / 5, '9:16': 9 / 16, '16:9': 16 / 9 } as const
const CODECS = [
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['webp', 'image/webp'],
] as const
/** The least size that renditions can be held to, in bytes. */
const MIN_BYTES = 10_000
/** The largest size that renditions can be held to, in bytes. */
const MAX_BYTES = 64 * 2 ** 30

/**
 * The settings of a rendition that fits all limits of a file; undefined if no rendition does. A file that is too small,
 * too short or too slow stays so.
 */
export function renditionFor(limits: Limits, file: PostMedia): RenditionRequest | undefined {
  if (file.kind === 'document') return undefined
  const target = targetOf(limits, file)
  if (target === undefined) return undefined
  const { codec, kind } = target
  const limit = (name: string) => numberOf(limits, `${kind}.${name}` as RuleId)
  const shape = shapeFor(file, limit('minRatio'), limit('maxRatio'))
  if (shape === null) return undefined
  const frame = frameFor(file, shape, limit('maxPixels'), limit('maxSides'))
  if (isTooSmall(frame ?? file, limit('minWidth'), limit('minHeight'))) return undefined
  const bytes = limit('maxBytes')
  if (bytes !== undefined && bytes < MIN_BYTES) return undefined
  const seconds = limit('maxSeconds')
  const fps = limit('maxFps')
  return {
    codec,
    ...(shape !== undefined && { crop: shape, fit: 'crop' as const }),
    ...(frame !== undefined && frame),
    ...(bytes !== undefined &&
      (file.bytes > bytes || codec !== codecOf(file)) && { maxBytes: Math.min(bytes, MAX_BYTES) }),
    ...(kind === 'video' && seconds !== undefined && (file.seconds ?? 0) > seconds && { trim: { to: seconds } }),
    ...(kind === 'video' && fps !== undefined && (file.fps ?? 0) > fps && { fps }),
  }
}

/** What the file becomes: the kind whose limits apply, and the codec. */
function targetOf(limits: Limits, file: PostMedia): { kind: MediaKind; codec: RenditionRequest['codec'] } | undefined {
  const takes = (kind: MediaKind) => mostOf(limits, kind) !== 0
  if (file.kind === 'video' || (file.kind === 'gif' && takes('video') && acceptsMp4(limits))) {
    return takes('video') && acceptsMp4(limits) && !isTooShort(limits, file)
      ? { kind: 'video', codec: 'h264' }
      : undefined
  }
  if (!takes(kindFor(limits, { kind: 'image' }))) return undefined
  const types = listOf(limits, 'image.types')
  const possible = CODECS.filter(([, type]) => types === undefined || types.includes(type))
  const same = possible.find(([codec]) => codec === codecOf(file))
  // A PNG does not get smaller by itself, so a file that is too large becomes a JPEG where that is possible.
  const isLarge = file.bytes > (numberOf(limits, 'image.maxBytes') ?? Infinity)
  const [codec] = (isLarge ? possible[0] : (same ?? possible[0])) ?? []
  return codec === undefined ? undefined : { kind: 'image', codec }
}

function acceptsMp4(limits: Limits): boolean {
  const types = listOf(limits, 'video.types')
  const codecs = listOf(limits, 'video.codecs')
  return (types === undefined || types.includes('video/mp4')) && (codecs === undefined || codecs.includes('h264'))
}

function isTooShort(limits: Limits, { fps = Infinity, kind, seconds = Infinity }: PostMedia): boolean {
  if (seconds < (numberOf(limits, 'video.minSeconds') ?? 0)) return true
  return kind === 'video' && fps < (numberOf(limits, 'video.minFps') ?? 0)
}

function isTooSmall(
  { height = Infinity, width = Infinity }: Pick<PostMedia, 'width' | 'height'>,
  minWidth = 0,
  minHeight = 0,
): boolean {
  return width < minWidth || height < minHeight
}

function codecOf({ type, videoCodec }: PostMedia): string | undefined {
  return videoCodec ?? CODECS.find(([, known]) => known === type)?.[0]
}

/** The shape to crop to; undefined if the file has an allowed one, null if none of the possible ones is allowed. */
function shapeFor({ height, width }: PostMedia, least = 0, most = Infinity): Shape | undefined | null {
  if (width === undefined || height === undefined || height === 0) return undefined
  const ratio = width / height
  if (ratio >= least && ratio <= most) return undefined
  const distance = (shape: Shape) => Math.abs(Math.log(SHAPES[shape] / ratio))
  // `Object.keys` returns strings, not the type of its keys.
  const possible = (Object.keys(SHAPES) as Shape[]).filter((shape) => SHAPES[shape] >= least && SHAPES[shape] <= most)
  return possible.sort((a, b) => distance(a) - distance(b))[0] ?? null
}

/** The largest frame within a number of pixels, and a length of both sides; undefined if the file needs no other. */
function frameFor(
  { height, width }: PostMedia,
  shape: Shape | undefined,
  mostPixels = Infinity,
  mostSides = Infinity,
): { width: number; height: number } | undefined {
  if (width === undefined || height === undefined) return undefined
  if (width * height <= mostPixels && width + height <= mostSides) return undefined
  const ratio = shape === undefined ? width / height : SHAPES[shape]
  const high = Math.floor(Math.min(Math.sqrt(mostPixels / ratio), mostSides / (1 + ratio)))
  return { width: Math.max(16, Math.floor(high * ratio)), height: Math.max(16, high) }
}
