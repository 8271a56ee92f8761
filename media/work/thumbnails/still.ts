import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { openHeic } from './heic.ts'
import { openPdf } from './pdf.ts'
import { openImage, type ImageSource } from './image.ts'
import { openSvg } from './svg.ts'

/**
 * Opens an image or document.
 * @param edge length of the longer edge, for formats without a fixed size
 * @throws MediaWorkError
 */
export async function openStill(
  path: string,
  kind: FileKind,
  edge: number,
  context: WorkContext,
): Promise<{ kind: 'image' | 'document'; image: ImageSource }> {
  switch (kind.decoder) {
    case 'sharp':
      return { kind: 'image', image: await openImage(path, kind, context.limits) }
    case 'heic':
      return { kind: 'image', image: await openHeic(path, kind, context) }
    case 'svg':
      return { kind: 'image', image: await openSvg(path, kind, edge, context) }
    case 'pdf':
      return { kind: 'document', image: await openPdf(path, kind, Math.min(edge, MAX_PAGE_EDGE), context) }
    default:
      throw new MediaWorkError('unsupported', 'The file is not an image.')
  }
}

/** All pixels are in memory, temporarily several times, with four bytes each. */
const MAX_PAGE_EDGE = 4096
