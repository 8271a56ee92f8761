import { MediaWorkError } from '../errors.ts'
import { fileKind } from '../probe/file-kind.ts'
import type { WorkContext } from '../process/context.ts'
import { imageError, timeout } from '../thumbnails/image.ts'
import { openStill } from '../thumbnails/still.ts'
import type { Pixels } from './nodes.ts'
import type { PictureLayer, ScenePage, ShownLayer } from './scene.ts'

/** Pixels of all pictures of a page and of one frame of its videos, which are in memory at once with four bytes each. */
const MAX_PIXELS = 40_000_000
const TRANSPARENT = { r: 0, g: 0, b: 0, alpha: 0 }

/** Decodes the pictures of a page in the size of their layers. @throws MediaWorkError with the pointer of the layer */
export async function openPictures(
  page: ScenePage,
  pointer: string,
  context: WorkContext,
): Promise<Map<ShownLayer, Pixels>> {
  const media = new Map<ShownLayer, Pixels>()
  const decoded = new Map<string, Pixels>()
  let pixelCount = 0
  for (const [index, layer] of page.layers.entries()) {
    if (layer.kind !== 'picture' && layer.kind !== 'video') continue
    context.signal.throwIfAborted()
    try {
      const [width, height] = [Math.round(layer.width), Math.round(layer.height)]
      const key = [layer.path, width, height, layer.fit].join('\n')
      const known = decoded.get(key)
      pixelCount += known === undefined ? width * height : 0
      if (pixelCount > MAX_PIXELS)
        throw new MediaWorkError('too_large', 'The pictures and videos of the page are too large.')
      if (layer.kind === 'video') continue
      const pixels = known ?? (await openPicture(layer, { width, height }, context))
      decoded.set(key, pixels)
      media.set(layer, pixels)
    } catch (error) {
      context.signal.throwIfAborted()
      const { code, message } = imageError(error)
      throw new MediaWorkError(code, `${pointer}/layers/${index}: ${message}`, { cause: error })
    }
  }
  return media
}

async function openPicture(
  { fit = 'cover', path }: PictureLayer,
  { height, width }: { readonly width: number; readonly height: number },
  context: WorkContext,
): Promise<Pixels> {
  const { image } = await openStill(path, await fileKind(path), Math.max(width, height), context)
  const { data } = await image
    .open()
    .resize(width, height, { fit, background: TRANSPARENT })
    .toColourspace('srgb')
    .ensureAlpha()
    .timeout(timeout(context.limits))
    .raw()
    .toBuffer({ resolveWithObject: true })
  return { width, height, data }
}
