import { rename, writeFile } from 'node:fs/promises'
import sharp, { type Sharp } from 'sharp'
import { MediaWorkError } from '../errors.ts'
import { partPath } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { openStill } from '../thumbnails/still.ts'
import { imageError, timeout } from '../thumbnails/image.ts'
import type { TranscodeResult } from '../types.ts'
import { frame, type Frame } from './framing.ts'
import { IMAGE_PRESETS, type ImageRule } from './presets.ts'
import { ASPECTS, type ImageSpec } from './spec.ts'

const DEFAULT_RULE = { format: 'jpeg', maxWidth: 7680, maxHeight: 7680 } as const
const DEFAULT_QUALITY = 82
/** Tried in order until the output is small enough: first a lower quality, then a smaller image. */
const STEPS: readonly (readonly [quality: number, scale: number])[] = [
  [100, 1],
  [72, 1],
  [60, 1],
  [60, 0.75],
  [55, 0.55],
  [50, 0.4],
  [45, 0.28],
]

/** Converts an image: upright, in sRGB, without metadata. @throws MediaWorkError */
export async function transcodeImage(
  path: string,
  output: string,
  spec: ImageSpec,
  kind: FileKind,
  context: WorkContext,
): Promise<TranscodeResult> {
  const preset: Omit<ImageRule, 'maxBytes' | 'source'> =
    spec.preset === undefined ? DEFAULT_RULE : IMAGE_PRESETS[spec.preset]
  const maxBytes = spec.maxBytes ?? (spec.preset === undefined ? undefined : IMAGE_PRESETS[spec.preset].maxBytes)
  const format = spec.format ?? preset.format
  const maxWidth = spec.maxWidth ?? preset.maxWidth
  const maxHeight = spec.maxHeight ?? preset.maxHeight
  const { image: source } = await openStill(path, kind, Math.max(maxWidth, maxHeight), context)
  const target = frame(source, {
    maxWidth,
    maxHeight,
    minWidth: preset.minWidth,
    minHeight: preset.minHeight,
    aspects: spec.aspect === undefined ? preset.aspects : [ASPECTS[spec.aspect], ASPECTS[spec.aspect]],
    fit: spec.fit ?? 'crop',
    multiple: 1,
  })
  const part = partPath(output)
  try {
    const { data, info } = await resize(source.open(), target, format)
      .timeout(timeout(context.limits))
      .raw()
      .toBuffer({ resolveWithObject: true })
    const raw = { width: info.width, height: info.height, channels: info.channels }
    for (const [maxQuality, scale] of STEPS) {
      context.signal.throwIfAborted()
      const image = sharp(data, { raw, failOn: 'none' })
      if (scale < 1) image.resize(Math.max(1, Math.round(info.width * scale)))
      const quality = Math.min(spec.quality ?? DEFAULT_QUALITY, maxQuality)
      const encoded = await encode(image, format, quality).toBuffer({ resolveWithObject: true })
      const { width, height, size: bytes } = encoded.info
      if (maxBytes === undefined || bytes <= maxBytes) {
        // sharp does not write the file, because errors of its concurrent operations can replace each other.
        await writeFile(part, encoded.data)
        await rename(part, output)
        return { bytes, mime: `image/${format}`, width, height, seconds: null, loudness: null }
      }
    }
  } catch (error) {
    context.signal.throwIfAborted()
    throw imageError(error)
  }
  throw new MediaWorkError('too_large', 'The image cannot be reduced to so few bytes.')
}

function resize(image: Sharp, { scaled, width, height }: Frame, format: string): Sharp {
  const background = format === 'jpeg' ? '#fff' : { r: 0, g: 0, b: 0, alpha: 0 }
  const padded = scaled.width !== width || scaled.height !== height
  // `cover` keeps the middle, because the target has the aspect ratio of the kept part.
  image.resize(scaled.width, scaled.height, { fit: padded ? 'fill' : 'cover' })
  if (padded) {
    const left = Math.floor((width - scaled.width) / 2)
    const top = Math.floor((height - scaled.height) / 2)
    const [right, bottom] = [width - scaled.width - left, height - scaled.height - top]
    image.extend({ left, top, right, bottom, background })
  }
  if (format === 'jpeg') image.flatten({ background: '#fff' })
  return image.toColourspace('srgb')
}

function encode(image: Sharp, format: 'jpeg' | 'png' | 'webp', quality: number): Sharp {
  if (format === 'jpeg') return image.jpeg({ quality, mozjpeg: true })
  if (format === 'webp') return image.webp({ quality })
  // Lossless at the default quality, otherwise with fewer colors.
  return quality >= DEFAULT_QUALITY ? image.png() : image.png({ palette: true, quality })
}
