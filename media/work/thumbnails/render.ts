import { encode } from 'blurhash'
import sharp, { type Sharp } from 'sharp'
import type { MediaWorkLimits } from '../limits.ts'
import { thumbnailPath } from '../outputs.ts'
import type { Thumbnail, ThumbnailOptions, ThumbnailSize } from '../types.ts'
import { pictureError, timeout, type Picture } from './picture.ts'

/** Enough for 4 × 3 waves. */
const HASH_EDGE = 20
const HASH_WAVES = [4, 3] as const
/** What the pixels in common may be; a very long picture to be filled into a square would need more, and is enlarged. */
const MAX_COMMON_PIXELS = 17_000_000
const WEBP = { quality: 78, effort: 2 } as const
const JPEG = { quality: 80, mozjpeg: false } as const

/**
 * Decodes once, as small as serves the largest size, and makes every size of that. Writes no metadata: neither EXIF nor
 * GPS, and colours are converted to sRGB.
 * @throws MediaWorkError
 */
export async function render(
  picture: Picture,
  outputDir: string,
  { sizes, format }: Pick<ThumbnailOptions, 'sizes' | 'format'>,
  limits: MediaWorkLimits,
): Promise<{ thumbnails: Thumbnail[]; blurhash: string }> {
  try {
    const scale = commonScale(picture, sizes)
    const width = Math.max(1, Math.round(picture.width * scale))
    const height = Math.max(1, Math.round(picture.height * scale))
    const { data, info } = await picture
      .open()
      .resize(width, height, { fit: 'fill' })
      .toColourspace('srgb')
      .timeout(timeout(limits))
      .raw()
      .toBuffer({ resolveWithObject: true })
    const raw = { width: info.width, height: info.height, channels: info.channels }
    const open = () => sharp(data, { raw })
    const written = sizes.map((size) => write(open(), raw, size, thumbnailPath(outputDir, size.name, format), format))
    // All of them end before this does, also when one fails: nothing is written any more once the job is over.
    const [hash, ...results] = await Promise.allSettled([hashOf(open()), ...written])
    return { thumbnails: results.map(valueOf), blurhash: valueOf(hash) }
  } catch (error) {
    throw pictureError(error)
  }
}

/** How much smaller the picture may get so that it still serves every size. */
function commonScale({ width, height }: Picture, sizes: readonly ThumbnailSize[]): number {
  const scales = sizes.map(
    ({ edge, fit }) => edge / (fit === 'cover' ? Math.min(width, height) : Math.max(width, height)),
  )
  const most = Math.sqrt(MAX_COMMON_PIXELS / (width * height))
  return Math.min(1, most, Math.max(...scales))
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
  const { width, height, size } = await encoded.toFile(path)
  return { name, path, width, height, bytes: size }
}

async function hashOf(image: Sharp): Promise<string> {
  const { data, info } = await image
    .resize(HASH_EDGE, HASH_EDGE, { fit: 'fill' })
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  return encode(new Uint8ClampedArray(data), info.width, info.height, ...HASH_WAVES)
}

function valueOf<T>(result: PromiseSettledResult<T> | undefined): T {
  if (result?.status !== 'fulfilled') throw result?.reason
  return result.value
}
