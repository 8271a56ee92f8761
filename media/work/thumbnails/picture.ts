import sharp, { type Sharp, type SharpOptions } from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { endsEarly } from '../probe/truncation.ts'

/** A picture that can be read any number of times, and its size as shown. */
export interface Picture {
  readonly width: number
  readonly height: number
  open(): Sharp
}

export interface PictureInfo {
  /** As shown, after the EXIF orientation. */
  readonly width: number
  readonly height: number
  readonly rotation: 0 | 90 | 180 | 270
  readonly pages: number
  readonly hasAlpha: boolean
  /** Of an animation, once through. */
  readonly seconds: number | null
}

const CUT_OFF = 'The picture ends before all of it is there.'
/** EXIF 2.32, tag 0x0112: clockwise turns that show the picture upright, mirroring aside. */
const TURNS = [0, 0, 0, 180, 180, 90, 90, 270, 270] as const

/** Strict: a picture that ends too early is an error, not a picture with a grey part. */
export function inputOptions(limits: MediaWorkLimits): SharpOptions {
  return { failOn: 'truncated', limitInputPixels: limits.imagePixels, sequentialRead: true }
}

/**
 * Reads the header alone.
 * @throws MediaWorkError `too_large`, `damaged`
 */
export async function pictureInfo(path: string, { bytes }: FileKind, limits: MediaWorkLimits): Promise<PictureInfo> {
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The picture has too many bytes.')
  // The limit is checked here, with the size in the message.
  const header = await sharp(path, { ...inputOptions(limits), limitInputPixels: false })
    .metadata()
    .catch(async (error: unknown) => {
      throw (await endsEarly(path, bytes))
        ? new MediaWorkError('truncated', CUT_OFF, { cause: error })
        : pictureError(error)
    })
  const { width, height } = header.autoOrient
  if (width * height > limits.imagePixels) {
    throw new MediaWorkError('too_large', `It has ${width} × ${height} pixels, too many.`)
  }
  const milliseconds = header.delay?.reduce((sum, delay) => sum + delay, 0) ?? 0
  return {
    width,
    height,
    rotation: TURNS[header.orientation ?? 1] ?? 0,
    pages: header.pages ?? 1,
    hasAlpha: header.hasAlpha,
    seconds: milliseconds > 0 ? milliseconds / 1000 : null,
  }
}

/** @throws MediaWorkError `too_large`, `damaged` */
export async function openPicture(path: string, kind: FileKind, limits: MediaWorkLimits): Promise<Picture> {
  const { width, height } = await pictureInfo(path, kind, limits)
  if (await endsEarly(path, kind.bytes)) throw new MediaWorkError('truncated', CUT_OFF)
  return { width, height, open: () => sharp(path, inputOptions(limits)).autoOrient() }
}

/** Whether all of the (first) picture is there. */
export async function decodesWhole(path: string, { bytes }: FileKind, limits: MediaWorkLimits): Promise<boolean> {
  if (await endsEarly(path, bytes)) return false
  try {
    await sharp(path, inputOptions(limits)).resize(16, 16, { fit: 'fill' }).timeout(timeout(limits)).raw().toBuffer()
    return true
  } catch (error) {
    const failure = pictureError(error)
    if (failure.code === 'truncated') return false
    throw failure
  }
}

/** Hard time for one run of sharp, a moment before that of the job. */
export function timeout(limits: MediaWorkLimits): { seconds: number } {
  return { seconds: Math.max(1, Math.min(3600, Math.floor(limits.quickSeconds))) }
}

/** What sharp says, as one of ours. */
export function pictureError(error: unknown): MediaWorkError {
  if (error instanceof MediaWorkError) return error
  const message = error instanceof Error ? error.message : String(error)
  const as = (code: ConstructorParameters<typeof MediaWorkError>[0], words: string) =>
    new MediaWorkError(code, words, { cause: error })
  if (/ENOSPC|No space left/i.test(message)) return as('unavailable', 'The disk is full.')
  if (/unable to open.*write|ENOENT|not (?:exist|found)/i.test(message))
    return as('missing', 'There is no such file or folder.')
  if (/exceeds pixel limit/.test(message)) return as('too_large', 'It has too many pixels.')
  if (/timeout/.test(message)) return as('timed_out', 'It took too long to decode.')
  if (/out of memory|unable to allocate/i.test(message))
    return as('memory_limit', 'It takes more memory than is allowed.')
  if (
    /premature|truncated|end of (?:stream|file)|unexpected end|eof|not enough data|read error|partial/i.test(message)
  ) {
    return as('truncated', CUT_OFF)
  }
  return as('damaged', 'The picture is damaged.')
}
