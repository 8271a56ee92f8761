import { DamagedFile, EmptyFile, ImageTooLarge, UnsafeFile, UnsupportedFile } from './errors.ts'
import { checkEnd, type ReadAt } from './file-end.ts'
import { imageSize, type ImageSize } from './image-size.ts'
import { checkSvg, looksLikeSvg } from './svg.ts'
import { ACCEPTED, ACCEPTED_IN_WORDS, canonicalType, extensionContradicts, type Kind } from './types.ts'

/** How many bytes from the start of a file are inspected. */
export const HEAD_BYTES = 512 * 1024

/** The largest images that are accepted, by side and by area, in pixels. */
const MAX_SIDE = 16_384
const MAX_PIXELS = 100_000_000

/** The result of an inspection. */
export interface Inspected {
  readonly type: string
  readonly kind: Kind
  readonly width: number | null
  readonly height: number | null
}

/**
 * Inspects the start of a file, before the rest of it is accepted.
 * @param head the first `HEAD_BYTES` of the file, or the whole file if it is shorter
 * @param wanted what is accepted, in words
 * @throws AppError empty_file, unsupported_file, unsafe_file, damaged_file, image_too_large
 */
export async function inspectHead(head: Buffer, name: string, wanted = ACCEPTED_IN_WORDS): Promise<Inspected> {
  if (head.length === 0) throw EmptyFile()
  const type = await typeOf(head)
  const accepted = ACCEPTED[type]
  if (accepted === undefined) {
    const what = type === '' ? 'of an unknown type' : type
    throw UnsupportedFile({ message: `The file is ${what}, which is not accepted. The accepted types are ${wanted}.` })
  }
  if (extensionContradicts(name, type)) {
    throw UnsupportedFile({
      message: `The extension of the file name does not match its content (${accepted.title}). Rename it to end in .${accepted.extensions[0] ?? ''}.`,
    })
  }
  if (type !== 'image/svg+xml') checkMarkers(head, type)
  const size = accepted.kind === 'image' ? sizeOf(type, head) : undefined
  return { type, kind: accepted.kind, width: size?.width ?? null, height: size?.height ?? null }
}

/**
 * Inspects a file that was received completely.
 * @throws AppError unsafe_file, damaged_file, unsupported_file, image_too_large
 */
export async function inspectWhole(found: Inspected, size: number, readAt: ReadAt): Promise<void> {
  if (found.type !== 'image/svg+xml') return checkEnd(found.type, size, readAt)
  let pixels = 0
  for (const image of checkSvg(await readAt(0, Math.min(size, 1_000_001)), size)) {
    const { height, kind, type, width } = await inspectHead(image, '')
    if (kind !== 'image' || type === 'image/svg+xml')
      throw UnsafeFile({ message: 'The SVG image has an embedded file that is not an image. Remove that file.' })
    pixels += (width ?? 0) * (height ?? 0)
    // The renderer has all embedded images in memory at once.
    if (pixels > MAX_PIXELS)
      throw ImageTooLarge({
        message: `The images embedded in the SVG have more than ${MAX_PIXELS / 1_000_000} million pixels in total. Reduce their size.`,
      })
  }
}

async function typeOf(head: Buffer): Promise<string> {
  if (looksLikeSvg(head)) return 'image/svg+xml'
  const { fileTypeFromBuffer } = await import('file-type')
  const found = await fileTypeFromBuffer(head).catch(() => undefined)
  return canonicalType(found?.mime ?? '')
}

function sizeOf(type: string, head: Buffer): ImageSize | undefined {
  if (type === 'image/svg+xml') return undefined
  const size = imageSize(type, head)
  if (size === undefined || size.width === 0 || size.height === 0) {
    throw DamagedFile({ message: 'The header of the image does not contain its size. Send the original file again.' })
  }
  const { width, height } = size
  if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS) {
    throw ImageTooLarge({
      message: `The image has ${width} × ${height} pixels. At most ${MAX_SIDE} on a side and ${MAX_PIXELS / 1_000_000} million in total are allowed. Reduce its size.`,
      details: { width, height },
    })
  }
  return size
}

/** Markers near the start of a file that is also an HTML page, a script or a document. */
const MARKERS = /%PDF-\d|<script[\s>]|<\?php|<html[\s>]|<!doctype html|<svg[\s>]/i

/** @throws AppError unsafe_file */
function checkMarkers(head: Buffer, type: string): void {
  const start = type === 'application/pdf' ? 8 : 0
  const found = MARKERS.exec(head.toString('latin1', start, 64 * 1024))
  if (found && !(type === 'application/pdf' && found[0].startsWith('%PDF'))) {
    throw UnsafeFile({ message: 'The file is valid as two types at once. Save it again with a standard program.' })
  }
}
