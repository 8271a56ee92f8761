import { readFile } from 'node:fs/promises'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { MediaWorkLimits } from '../limits.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { inputOptions, pictureError, type Picture } from './picture.ts'

const MAX_BYTES = 4 * 2 ** 20
/** Of a drawing that is drawn larger than it says, so that thumbnails are crisp. */
const MAX_DENSITY = 2400
const DENSITY = 72
/** sharp takes no less. */
const MIN_DENSITY = 1

/**
 * A drawing as librsvg draws it: scripts are not run, and as it comes from memory it has no place that a reference to
 * another file or host could start from. What is refused beforehand is what could be costly or tricky to parse.
 * @throws MediaWorkError `too_large`, `unsupported`, `damaged`
 */
export async function readSvg(
  path: string,
  { bytes }: FileKind,
  limits: MediaWorkLimits,
): Promise<{ buffer: Buffer; width: number; height: number }> {
  if (bytes > MAX_BYTES) throw new MediaWorkError('too_large', 'The drawing has too many bytes.')
  const buffer = await readFile(path)
  const text = buffer.toString(buffer[1] === 0 ? 'utf16le' : 'utf8')
  if (/<!ENTITY/i.test(text)) throw new MediaWorkError('unsupported', 'Drawings that define entities are not drawn.')
  if (/<(?:\w+:)?include\b/i.test(text)) {
    throw new MediaWorkError('unsupported', 'Drawings that include other files are not drawn.')
  }
  const { width, height } = await sharp(buffer, { ...inputOptions(limits), limitInputPixels: false })
    .metadata()
    .catch((error: unknown) => {
      throw new MediaWorkError('damaged', 'The drawing cannot be read.', { cause: error })
    })
  if (width * height > limits.imagePixels) {
    throw new MediaWorkError('too_large', `It has ${width} × ${height} pixels, too many.`)
  }
  return { buffer, width, height }
}

/**
 * @param edge what the longer edge is to have at least, if the drawing may be drawn so large. A drawing that says that it is
 *   larger is drawn so small that its shorter edge is as long: the time it takes grows with its pixels.
 */
export async function openSvg(path: string, kind: FileKind, edge: number, limits: MediaWorkLimits): Promise<Picture> {
  const { buffer, width, height } = await readSvg(path, kind, limits)
  const options = { ...inputOptions(limits), density: DENSITY * scaleFor(edge, width, height) }
  const drawn = await sharp(buffer, options)
    .metadata()
    .catch((error: unknown) => {
      throw pictureError(error)
    })
  return { width: drawn.width, height: drawn.height, open: () => sharp(buffer, options) }
}

function scaleFor(edge: number, width: number, height: number): number {
  const larger = edge / Math.max(width, height)
  const smaller = edge / Math.min(width, height)
  return Math.max(MIN_DENSITY / DENSITY, Math.min(MAX_DENSITY / DENSITY, Math.max(larger, Math.min(1, smaller))))
}
