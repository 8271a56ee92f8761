import type { WorkContext } from '../process/context.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { ProbeResult, ThumbnailOptions, ThumbnailResult } from '../types.ts'
import { openHeic } from './heic.ts'
import { openPdf } from './pdf.ts'
import { openPicture, type Picture } from './picture.ts'
import { render } from './render.ts'
import { openSvg } from './svg.ts'
import { openFrame } from './video-frame.ts'
import { openWaveform } from './waveform.ts'

interface Source {
  readonly kind: ProbeResult['kind']
  readonly picture: Picture
  readonly peaks: readonly number[] | null
}

/** @throws MediaWorkError */
export async function thumbnails(
  path: string,
  outputDir: string,
  options: Pick<ThumbnailOptions, 'sizes' | 'format'>,
  context: WorkContext,
): Promise<ThumbnailResult> {
  const edge = Math.max(...options.sizes.map((size) => size.edge))
  const { kind, picture, peaks } = await open(path, edge, context)
  context.signal.throwIfAborted()
  return { kind, ...(await render(picture, outputDir, options, context.limits)), peaks }
}

async function open(path: string, edge: number, context: WorkContext): Promise<Source> {
  const kind = await fileKind(path)
  const { limits } = context
  switch (kind.way) {
    case 'picture':
      return { kind: 'image', picture: await openPicture(path, kind, limits), peaks: null }
    case 'heic':
      return { kind: 'image', picture: await openHeic(path, kind, context), peaks: null }
    case 'drawing':
      return { kind: 'image', picture: await openSvg(path, kind, edge, limits), peaks: null }
    case 'pdf':
      return { kind: 'document', picture: await openPdf(path, kind, edge, context), peaks: null }
    default: {
      const media = await probeWorkable(path, kind, context)
      if (media.video !== null) {
        return { kind: 'video', picture: await openFrame(path, media, edge, context), peaks: null }
      }
      return { kind: 'audio', ...(await openWaveform(path, media, edge, context)) }
    }
  }
}
