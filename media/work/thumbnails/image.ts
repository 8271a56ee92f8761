import sharp, { type Sharp, type SharpOptions } from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { isTruncated } from '../probe/truncation.ts'

/** An opened image that can be decoded any number of times, and its dimensions as shown. */
export interface ImageSource {
  readonly width: number
  readonly height: number
  open(): Sharp
}

export interface ImageInfo {
  /** As shown, after the EXIF orientation. */
  readonly width: number
  readonly height: number
  readonly rotation: 0 | 90 | 180 | 270
  readonly pages: number
  readonly hasAlpha: boolean
  /** Duration of one loop of an animation. Null for still images. */
  readonly seconds: number | null
}

const TRUNCATED = 'The image is truncated.'
/** EXIF 2.32, tag 0x0112: the clockwise rotation by orientation, without mirroring. */
const ROTATIONS = [0, 0, 0, 180, 180, 90, 90, 270, 270] as const

/** Strict options: a truncated image is an error, not a partly grey image. */
export function inputOptions(limits: MediaWorkLimits): SharpOptions {
  return { failOn: 'truncated', limitInputPixels: limits.imagePixels, sequentialRead: true }
}

/**
 * Reads only the header.
 * @throws MediaWorkError `too_large`, `damaged`
 */
export async function imageInfo(path: string, { bytes }: FileKind, limits: MediaWorkLimits): Promise<ImageInfo> {
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The image file is too large.')
  // The limit is checked below, so that the message can have the dimensions.
  const header = await sharp(path, { ...inputOptions(limits), limitInputPixels: false })
    .metadata()
    .catch(async (error: unknown) => {
      throw (await isTruncated(path, bytes))
        ? new MediaWorkError('truncated', TRUNCATED, { cause: error })
        : imageError(error)
    })
  const { width, height } = header.autoOrient
  if (width * height > limits.imagePixels) {
    throw new MediaWorkError('too_large', `The image has ${width} × ${height} pixels, which is too many.`)
  }
  const milliseconds = header.delay?.reduce((sum, delay) => sum + delay, 0) ?? 0
  return {
    width,
    height,
    rotation: ROTATIONS[header.orientation ?? 1] ?? 0,
    pages: header.pages ?? 1,
    hasAlpha: header.hasAlpha,
    seconds: milliseconds > 0 ? milliseconds / 1000 : null,
  }
}

/** @throws MediaWorkError `too_large`, `damaged` */
export async function openImage(path: string, kind: FileKind, limits: MediaWorkLimits): Promise<ImageSource> {
  const { width, height } = await imageInfo(path, kind, limits)
  if (await isTruncated(path, kind.bytes)) throw new MediaWorkError('truncated', TRUNCATED)
  return { width, height, open: () => sharp(path, inputOptions(limits)).autoOrient() }
}

/** Whether the (first) image can be decoded completely. */
export async function isComplete(path: string, { bytes }: FileKind, limits: MediaWorkLimits): Promise<boolean> {
  if (await isTruncated(path, bytes)) return false
  try {
    await sharp(path, inputOptions(limits)).resize(16, 16, { fit: 'fill' }).timeout(timeout(limits)).raw().toBuffer()
    return true
  } catch (error) {
    const failure = imageError(error)
    if (failure.code === 'truncated') return false
    throw failure
  }
}

/** Time limit of one sharp operation. */
export function timeout(limits: MediaWorkLimits): { seconds: number } {
  return { seconds: Math.max(1, Math.min(3600, Math.floor(limits.quickSeconds))) }
}

/** Converts an error of sharp. */
export function imageError(error: unknown): MediaWorkError {
  if (error instanceof MediaWorkError) return error
  const message = error instanceof Error ? error.message : String(error)
  const failure = (code: ConstructorParameters<typeof MediaWorkError>[0], text: string) =>
    new MediaWorkError(code, text, { cause: error })
  if (/ENOSPC|EDQUOT|No space left/i.test(message)) return failure('unavailable', 'The disk is full.')
  if (/unable to open.*write|ENOENT|not (?:exist|found)/i.test(message))
    return failure('missing', 'The file or folder does not exist.')
  if (/exceeds pixel limit/.test(message)) return failure('too_large', 'The image has too many pixels.')
  if (/timeout/.test(message)) return failure('timed_out', 'The image took too long to decode.')
  if (/out of memory|unable to allocate/i.test(message))
    return failure('memory_limit', 'The file needs more memory than the limit.')
  if (
    /premature|truncated|end of (?:stream|file)|unexpected end|eof|not enough data|read error|partial/i.test(message)
  ) {
    return failure('truncated', TRUNCATED)
  }
  return failure('damaged', 'The image is damaged.')
}
