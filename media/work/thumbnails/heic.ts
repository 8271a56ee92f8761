import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { endsEarly } from '../probe/truncation.ts'
import type { HeicInfo } from '../threads/heic.ts'
import type { Picture } from './picture.ts'

/** Four bytes for each pixel, twice for a moment: less than what sharp may decode piece by piece. */
const MAX_PIXELS = 64_000_000

/** @throws MediaWorkError */
export async function heicInfo(
  path: string,
  kind: FileKind,
  context: WorkContext,
): Promise<HeicInfo & { truncated: boolean }> {
  const truncated = await endsEarly(path, kind.bytes)
  try {
    return { ...(await context.threads.heicInfo(input(path, kind, context), context.signal)), truncated }
  } catch (error) {
    throw orTruncated(error, truncated)
  }
}

/** Decodes the first picture. @throws MediaWorkError */
export async function openHeic(path: string, kind: FileKind, context: WorkContext): Promise<Picture> {
  if (await endsEarly(path, kind.bytes)) throw orTruncated(null, true)
  // libheif turns it as the file asks for; the EXIF orientation is to be left alone in HEIC.
  const { width, height, data } = await context.threads.heic(input(path, kind, context), context.signal)
  const raw = { width, height, channels: 4 } as const
  const pixels = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return { width, height, open: () => sharp(pixels, { raw }).removeAlpha() }
}

function input(path: string, { bytes }: FileKind, { limits }: WorkContext): { path: string; maxPixels: number } {
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The picture has too many bytes.')
  return { path, maxPixels: Math.min(MAX_PIXELS, limits.imagePixels) }
}

function orTruncated(error: unknown, truncated: boolean): unknown {
  if (!truncated) return error
  return new MediaWorkError('truncated', 'The picture ends before all of it is there.', { cause: error })
}
