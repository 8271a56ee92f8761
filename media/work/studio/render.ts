import { readFile, rename, writeFile } from 'node:fs/promises'
import sharp, { type Sharp } from 'sharp'
import { partPath, renderedPaths } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { imageError, timeout } from '../thumbnails/image.ts'
import { pageOf, PagePainter } from './painter.ts'
import type { RenderOrder, RenderedFile, RenderedScene, Scene } from './scene.ts'
import { renderVideo } from './video.ts'

const QUALITY = 90

/**
 * Renders pages of a scene to pictures or a video.
 * @param path a JSON file with the scene
 * @throws MediaWorkError
 */
export async function renderScene(
  path: string,
  outputDir: string,
  order: RenderOrder,
  context: WorkContext,
): Promise<RenderedScene> {
  const scene = JSON.parse(await readFile(path, 'utf8')) as Scene
  if (order.format === 'mp4') return renderVideo(scene, outputDir, order, context)
  const files: RenderedFile[] = []
  const outputs = renderedPaths(outputDir, order)
  for (const [place, index] of order.pages.entries()) {
    files.push(await renderPicture(scene, index, { output: outputs[place] ?? '', order }, context))
    context.progress({ fraction: (place + 1) / order.pages.length, fps: null, etaSeconds: null })
  }
  return { files }
}

async function renderPicture(
  scene: Scene,
  index: number,
  { order: { format }, output }: { readonly order: RenderOrder; readonly output: string },
  context: WorkContext,
): Promise<RenderedFile> {
  const { height, width } = pageOf(scene, index)
  const painter = await PagePainter.open(scene, index, context)
  const raw = { width, height, channels: 4 } as const
  try {
    const image = sharp(await painter.picture(), { raw }).timeout(timeout(context.limits))
    const encoded = format === 'png' ? image.png() : format === 'webp' ? image.webp({ quality: QUALITY }) : jpeg(image)
    const data = await encoded.toBuffer()
    const part = partPath(output)
    // sharp does not write the file, because errors of its concurrent operations can replace each other.
    await writeFile(part, data)
    await rename(part, output)
    return { path: output, bytes: data.length, mime: `image/${format}`, width, height, seconds: null }
  } catch (error) {
    context.signal.throwIfAborted()
    throw imageError(error)
  }
}

function jpeg(image: Sharp): Sharp {
  return image.flatten({ background: '#fff' }).jpeg({ quality: QUALITY, mozjpeg: true })
}
