import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import { openHeic } from './heic.ts'
import { openPdf } from './pdf.ts'
import { openPicture, type Picture } from './picture.ts'
import { openSvg } from './svg.ts'

/**
 * Opens what holds still: pictures, drawings, documents.
 * @param edge what the longer edge is to have where the file leaves it open
 * @throws MediaWorkError
 */
export async function openStill(
  path: string,
  kind: FileKind,
  edge: number,
  context: WorkContext,
): Promise<{ kind: 'image' | 'document'; picture: Picture }> {
  switch (kind.way) {
    case 'picture':
      return { kind: 'image', picture: await openPicture(path, kind, context.limits) }
    case 'heic':
      return { kind: 'image', picture: await openHeic(path, kind, context) }
    case 'drawing':
      return { kind: 'image', picture: await openSvg(path, kind, edge, context) }
    case 'pdf':
      return { kind: 'document', picture: await openPdf(path, kind, Math.min(edge, MAX_PAGE_EDGE), context) }
    default:
      throw new MediaWorkError('unsupported', 'It is no picture.')
  }
}

/** Four bytes for each pixel, several times for a moment. */
const MAX_PAGE_EDGE = 4096
