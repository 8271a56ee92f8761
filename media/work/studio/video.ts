import { once } from 'node:events'
import { rename, stat } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { MediaWorkError } from '../errors.ts'
import { partPath, renderedPaths } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { aac, h264, STRIP_OPTIONS } from '../transcode/video.ts'
import { FRAMES_PER_SECOND } from './clip.ts'
import { PageFrames } from './frames.ts'
import { secondsOf } from './motion.ts'
import { pageOf } from './painter.ts'
import { frameHeader, videoHeader } from './raw-video.ts'
import type { RenderOrder, RenderedScene, Scene, ScenePage } from './scene.ts'
import { mixOf } from './sounds.ts'
import type { Bitmap } from './sprite.ts'

const VIDEO_KBPS = 12_000
const AUDIO_KBPS = 128
const KEYFRAME_SECONDS = 2

/**
 * Renders a video that shows pages one after another. ffmpeg gets a frame only when something changes, and repeats it.
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
  const { filter, sounds } = await mixOf(scene, order.pages, 1, context)
  const [output = ''] = renderedPaths(outputDir, order)
  const part = partPath(output)
  const encoder = h264({ crf: 20, kbps: VIDEO_KBPS, keyframes: FRAMES_PER_SECOND * KEYFRAME_SECONDS })
  // The colors are converted as HD players expect them, before frames are repeated.
  const picture = `scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,fps=${FRAMES_PER_SECOND},setsar=1`
  const colors = ['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv']
  const frames = new PassThrough({ highWaterMark: 1 })
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const encoding = context.ffmpeg.run({
    input: frames,
    sounds,
    outputOptions: [
      '-filter_complex',
      [`[0:v:0]${picture}[picture]`, ...(filter === undefined ? [] : [filter])].join(';'),
      '-map',
      '[picture]',
      ...encoder,
      ...colors,
      ...(filter === undefined ? ['-an'] : ['-map', '[sound]', ...aac(AUDIO_KBPS, null)]),
      ...STRIP_OPTIONS,
      '-t',
      seconds.toFixed(3),
      '-movflags',
      '+faststart',
      '-f',
      'mp4',
    ],
    output: part,
    signal,
    seconds,
    onProgress: context.progress,
  })
  const sending = sendFrames(scene, order.pages, { stream: frames, width, height }, { ...context, signal })
  try {
    // If ffmpeg fails, nobody reads the frames any more.
    await Promise.all([sending, encoding])
  } catch (error) {
    stop.abort(new MediaWorkError('cancelled', 'The other half of the work failed.'))
    frames.destroy()
    await Promise.allSettled([sending, encoding])
    context.signal.throwIfAborted()
    throw error
  }
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

interface Target {
  readonly stream: PassThrough
  readonly width: number
  readonly height: number
}

/** Sends each frame that differs from the one before it, and the last one. @throws MediaWorkError */
async function sendFrames(
  scene: Scene,
  pages: readonly number[],
  { height, stream, width }: Target,
  context: WorkContext,
): Promise<void> {
  const bitmap = (): Bitmap => ({ width, height, data: new Uint8Array(width * height * 4) })
  // One is drawn while the other is sent.
  let [frame, sent] = [bitmap(), bitmap()]
  const send = async (time: number, { data }: Bitmap) => {
    stream.write(frameHeader(time, data.length))
    await writable(stream, context.signal)
    stream.write(data)
  }
  stream.write(videoHeader(width, height, FRAMES_PER_SECOND))
  let [pageStart, last] = [0, -1]
  for (const index of pages) {
    const page = pageOf(scene, index)
    const pageEnd = pageStart + secondsOf(page)
    const [from, to] = [Math.round(pageStart * FRAMES_PER_SECOND), Math.round(pageEnd * FRAMES_PER_SECOND)]
    const frames = await PageFrames.open(scene, index, context)
    try {
      let key: string | undefined
      for (let time = from; time < to; time += 1) {
        const next = frames.keyOf(time - from)
        if (next === key) continue
        key = next
        await frames.draw(time - from, frame)
        // The other bitmap is free when everything was read.
        await writable(stream, context.signal)
        await send(time, frame)
        ;[frame, sent] = [sent, frame]
        last = time
      }
    } finally {
      await frames.close()
    }
    pageStart = pageEnd
  }
  const end = Math.round(pageStart * FRAMES_PER_SECOND) - 1
  // ffmpeg shows the last frame only once.
  if (last < end) {
    await writable(stream, context.signal)
    await send(end, sent)
  }
  stream.end()
}

/** Waits until the reader has taken what was written. */
async function writable(stream: PassThrough, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (stream.writableNeedDrain) await once(stream, 'drain', { signal })
}
