import { writeFile } from 'node:fs/promises'
import { encode } from 'blurhash'
import sharp, { type Sharp } from 'sharp'
import type { MediaWorkLimits } from '../limits.ts'
import { thumbnailPath } from '../outputs.ts'
import type { Thumbnail, ThumbnailOptions, ThumbnailSize } from '../types.ts'
import { imageError, timeout, type ImageSource } from './image.ts'

/** Enough pixels for 4 × 3 components. */
const HASH_EDGE = 20
const HASH_COMPONENTS = [4, 3] as const
/** Maximum pixels of the decoded image. To fill a square, a very long image would need more; it is enlarged instead. */
const MAX_DECODED_PIXELS = 17_000_000
const WEBP = { quality: 78, effort: 2 } as const
const JPEG = { quality: 80, mozjpeg: false } as const

/**
 * Decodes the image once, at the smallest size that serves the largest thumbnail, and makes all sizes from that. Writes no
 * metadata, such as EXIF or GPS. Colors are converted to sRGB.
 * @throws MediaWorkError
 */
export async function render(
  image: ImageSource,
  outputDir: string,
  { sizes, format }: Pick<ThumbnailOptions, 'sizes' | 'format'>,
  limits: MediaWorkLimits,
): Promise<{ thumbnails: Thumbnail[]; blurhash: string }> {
  try {
    const scale = commonScale(image, sizes)
    const width = Math.max(1, Math.round(image.width * scale))
    const height = Math.max(1, Math.round(image.height * scale))
    const { data, info } = await image
      .open()
      .resize(width, height, { fit: 'fill' })
      .toColourspace('srgb')
      .timeout(timeout(limits))
      .raw()
      .toBuffer({ resolveWithObject: true })
    const raw = { width: info.width, height: info.height, channels: info.channels }
    const open = () => sharp(data, { raw, failOn: 'none' })
    const written = sizes.map((size) => write(open(), raw, size, thumbnailPath(outputDir, size.name, format), format))
    // Wait for all of them even if one fails, so that nothing is written after the job has ended.
    const [hash, ...results] = await Promise.allSettled([hashOf(open()), ...written])
    return { thumbnails: results.map(valueOf), blurhash: valueOf(hash) }
  } catch (error) {
    throw imageError(error)
  }
}

/** The smallest scale that still serves every size. */
function commonScale({ width, height }: ImageSource, sizes: readonly ThumbnailSize[]): number {
  const scales = sizes.map(
    ({ edge, fit }) => edge / (fit === 'cover' ? Math.min(width, height) : Math.max(width, height)),
  )
  const maxScale = Math.sqrt(MAX_DECODED_PIXELS / (width * height))
  return Math.min(1, maxScale, Math.max(...scales))
}

async function write(
  image: Sharp,
  from: { width: number; height: number },
  { name, edge, fit = 'inside' }: ThumbnailSize,
  path: string,
  format: ThumbnailOptions['format'],
): Promise<Thumbnail> {
  if (fit === 'cover') image.resize(edge, edge, { fit: 'cover' })
  else if (Math.max(from.width, from.height) > edge) image.resize(edge, edge, { fit: 'inside' })
  const encoded = format === 'jpeg' ? image.flatten({ background: '#fff' }).jpeg(JPEG) : image.webp(WEBP)
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true })
  // sharp does not write the file: libvips has one error buffer for all threads, so an operation can clear the error of
  // another one or report it as its own.
  await writeFile(path, data)
  return { name, path, width: info.width, height: info.height, bytes: data.length }
}

async function hashOf(image: Sharp): Promise<string> {
  const { data, info } = await image
    .resize(HASH_EDGE, HASH_EDGE, { fit: 'fill' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  return encode(new Uint8ClampedArray(data), info.width, info.height, ...HASH_COMPONENTS)
}

function valueOf<T>(result: PromiseSettledResult<T> | undefined): T {
  if (result?.status !== 'fulfilled') throw result?.reason
  return result.value
}
