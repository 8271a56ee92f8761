import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { isTruncated } from '../probe/truncation.ts'
import type { HeicInfo } from '../threads/heic.ts'
import type { ImageSource } from './image.ts'

/** Lower than the limit of sharp, which decodes in parts. Here all pixels are in memory, temporarily twice, with four bytes each. */
const MAX_PIXELS = 64_000_000

/** @throws MediaWorkError */
export async function heicInfo(
  path: string,
  kind: FileKind,
  context: WorkContext,
): Promise<HeicInfo & { truncated: boolean }> {
  const truncated = await isTruncated(path, kind.bytes)
  try {
    return { ...(await context.threads.heicInfo(input(path, kind, context), context.signal)), truncated }
  } catch (error) {
    throw orTruncated(error, truncated)
  }
}

/** Decodes the first image. @throws MediaWorkError */
export async function openHeic(path: string, kind: FileKind, context: WorkContext): Promise<ImageSource> {
  if (await isTruncated(path, kind.bytes)) throw orTruncated(null, true)
  // libheif has applied the rotation. The EXIF orientation must be ignored in HEIC.
  const { width, height, data } = await context.threads.heic(input(path, kind, context), context.signal)
  const raw = { width, height, channels: 4 } as const
  const pixels = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  return { width, height, open: () => sharp(pixels, { raw }).removeAlpha() }
}

function input(path: string, { bytes }: FileKind, { limits }: WorkContext): { path: string; maxPixels: number } {
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The image file is too large.')
  return { path, maxPixels: Math.min(MAX_PIXELS, limits.imagePixels) }
}

function orTruncated(error: unknown, truncated: boolean): unknown {
  if (!truncated) return error
  return new MediaWorkError('truncated', 'The image is truncated.', { cause: error })
}
