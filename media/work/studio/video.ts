import { rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import { partPath, renderedPaths } from '../outputs.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { WorkContext } from '../process/context.ts'
import { aac, h264, STRIP_OPTIONS } from '../transcode/video.ts'
import { pageOf, PagePainter } from './painter.ts'
import type { RenderOrder, RenderedScene, Scene, ScenePage, SceneSound } from './scene.ts'
import { secondsOf, stillsOf } from './times.ts'

const FRAMES_PER_SECOND = 30
const VIDEO_KBPS = 12_000
const AUDIO_KBPS = 128
const KEYFRAME_SECONDS = 2
/** The end of the sound, during which it gets silent. */
const FADE_SECONDS = 1
/** Each still is a file until the end of the job. */
const MOST_STILLS = 600
/** The share of drawing in the progress. */
const DRAW_SHARE = 0.4

/**
 * Renders a video that shows pages one after another. A picture is drawn only when a layer appears or disappears, and ffmpeg
 * repeats it.
 * @throws MediaWorkError
 */
export async function renderVideo(
  scene: Scene,
  outputDir: string,
  order: RenderOrder,
  context: WorkContext,
): Promise<RenderedScene> {
  const pages = order.pages.map((index) => pageOf(scene, index))
  const { height, width } = frameOf(pages)
  const seconds = pages.reduce((sum, page) => sum + secondsOf(page), 0)
  if (scene.sound !== undefined) await checkSound(scene.sound, context)
  const list = await drawStills(scene, order.pages, context)
  const [output = ''] = renderedPaths(outputDir, order)
  const part = partPath(output)
  const encoder = h264({ crf: 20, kbps: VIDEO_KBPS, keyframes: FRAMES_PER_SECOND * KEYFRAME_SECONDS })
  // The colors are converted as HD players expect them.
  const filters = `fps=${FRAMES_PER_SECOND},scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,setsar=1`
  const colors = ['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv']
  const { sound } = scene
  const length = ['-t', seconds.toFixed(3)]
  await context.ffmpeg.run({
    input: list,
    isList: true,
    sound: sound === undefined ? undefined : { path: sound.path, inputOptions: ['-stream_loop', '-1'] },
    outputOptions: [
      '-map',
      '0:v:0',
      '-vf',
      filters,
      ...encoder,
      ...colors,
      ...(sound === undefined ? ['-an'] : ['-map', '1:a:0', ...aac(AUDIO_KBPS, soundFilter(sound, seconds))]),
      ...STRIP_OPTIONS,
      ...length,
      '-movflags',
      '+faststart',
      '-f',
      'mp4',
    ],
    output: part,
    signal: context.signal,
    seconds,
    onProgress: ({ fraction, ...rest }) =>
      context.progress({ ...rest, fraction: DRAW_SHARE + fraction * (1 - DRAW_SHARE) }),
  })
  const { size: bytes } = await stat(part)
  context.signal.throwIfAborted()
  await rename(part, output)
  return { files: [{ path: output, bytes, mime: 'video/mp4', width, height, seconds }] }
}

/** H.264 with 4:2:0 needs even numbers. @throws MediaWorkError */
function frameOf([first, ...rest]: readonly ScenePage[]): { width: number; height: number } {
  const { height = 0, width = 0 } = first ?? {}
  if (rest.some((page) => page.width !== width || page.height !== height)) {
    throw new MediaWorkError('invalid_settings', 'All pages of a video need the same width and height.')
  }
  if (width % 2 !== 0 || height % 2 !== 0) {
    throw new MediaWorkError('invalid_settings', 'The width and height of a video must be even numbers.')
  }
  return { width, height }
}

/** @throws MediaWorkError */
async function checkSound({ path }: SceneSound, context: WorkContext): Promise<void> {
  try {
    const { audio } = await probeWorkable({ path, kind: await fileKind(path), probed: undefined }, context)
    if (audio === null) throw new MediaWorkError('unsupported', 'The file has no sound.')
  } catch (error) {
    if (!(error instanceof MediaWorkError)) throw error
    throw new MediaWorkError(error.code, `/sound: ${error.message}`, { cause: error })
  }
}

function soundFilter({ volume = 1 }: SceneSound, seconds: number): string {
  const fade = Math.min(FADE_SECONDS, seconds)
  return `volume=${volume},afade=t=out:st=${(seconds - fade).toFixed(3)}:d=${fade.toFixed(3)}`
}

/** Draws all stills of a video as files. @returns the path of their list, for ffmpeg */
async function drawStills(scene: Scene, pages: readonly number[], context: WorkContext): Promise<string> {
  const folder = await context.scratch()
  const counts = pages.map((index) => stillsOf(pageOf(scene, index)).length)
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total > MOST_STILLS) {
    const message = `The layers appear and disappear ${total} times, which is more than ${MOST_STILLS}.`
    throw new MediaWorkError('too_large', message)
  }
  const lines = ['ffconcat version 1.0']
  let name = ''
  let drawn = 0
  for (const index of pages) {
    const page = pageOf(scene, index)
    const painter = await PagePainter.open(scene, index, context)
    const raw = { width: page.width, height: page.height, channels: 4 } as const
    for (const { from, seconds } of stillsOf(page)) {
      name = `${drawn}.png`
      const pixels = await painter.paint(context.signal, from)
      const opaque = sharp(pixels, { raw }).flatten({ background: '#000' })
      await writeFile(join(folder, name), await opaque.png({ compressionLevel: 1 }).toBuffer())
      lines.push(`file ${name}`, `duration ${seconds.toFixed(6)}`)
      drawn += 1
      context.progress({ fraction: (drawn / total) * DRAW_SHARE, fps: null, etaSeconds: null })
    }
  }
  // ffmpeg ignores the duration of the last file.
  const list = join(folder, 'stills.txt')
  await writeFile(list, [...lines, `file ${name}`, ''].join('\n'))
  return list
}
