import { MediaWorkError } from '../errors.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { WorkContext } from '../process/context.ts'
import { secondsOf, spanOf } from './motion.ts'
import type { Animation, Scene, ScenePage } from './scene.ts'

/** How long the sound of the whole video fades out at its end. */
const FADE_SECONDS = 1

/** What is heard in a video, and when. */
interface Sound {
  readonly pointer: string
  /** A video without sound is shown anyway. */
  readonly isOptional: boolean
  readonly path: string
  readonly volume: number
  /** From the start of the video. */
  readonly start: number
  readonly seconds: number
  /** Where it begins in the file. */
  readonly from: number
  readonly isRepeated: boolean
  readonly fadeIn: number
  readonly fadeOut: number
}

/** The inputs of ffmpeg with the sounds of a video, and the filter that mixes them. */
export interface Mix {
  readonly sounds: readonly { readonly path: string; readonly inputOptions: readonly string[] }[]
  /** Its output is `[sound]`. Undefined without sounds. */
  readonly filter: string | undefined
}

/**
 * Mixes the sound of a scene, of its sound layers and of its videos.
 * @param firstInput the number of the first of these inputs
 * @throws MediaWorkError that begins with the pointer of the layer that causes it
 */
export async function mixOf(
  scene: Scene,
  pages: readonly number[],
  firstInput: number,
  context: WorkContext,
): Promise<Mix> {
  const total = pages.reduce((sum, index) => sum + secondsOf(scene.pages[index] ?? {}), 0)
  const heard: Sound[] = []
  for (const sound of soundsOf(scene, pages, total)) if (await hasSound(sound, context)) heard.push(sound)
  if (heard.length === 0) return { sounds: [], filter: undefined }
  const parts = heard.map((sound, index) => `[${firstInput + index}:a:0]${filterOf(sound)}[sound${index}]`)
  const names = heard.map((_, index) => `[sound${index}]`).join('')
  const mixed =
    heard.length === 1 ? '' : `amix=inputs=${heard.length}:normalize=0:dropout_transition=0,alimiter=level=0,`
  return {
    sounds: heard.map(({ from, isRepeated, path, seconds }) => ({
      path,
      inputOptions: [
        '-vn',
        ...(isRepeated ? ['-stream_loop', '-1'] : ['-ss', from.toFixed(3)]),
        '-t',
        seconds.toFixed(3),
      ],
    })),
    filter: [...parts, `${names}${mixed}apad=whole_dur=${total.toFixed(3)}[sound]`].join(';'),
  }
}

function soundsOf(scene: Scene, pages: readonly number[], total: number): Sound[] {
  const found: Sound[] = []
  if (scene.sound !== undefined) {
    const { path, volume = 1 } = scene.sound
    const fadeOut = Math.min(FADE_SECONDS, total)
    const whole = { start: 0, seconds: total, from: 0, isRepeated: true, fadeIn: 0, fadeOut }
    found.push({ pointer: '/sound', isOptional: false, path, volume, ...whole })
  }
  let pageStart = 0
  for (const index of pages) {
    const page = scene.pages[index]
    if (page === undefined) continue
    found.push(...soundsOfPage(page, index, pageStart))
    pageStart += secondsOf(page)
  }
  return found
}

function soundsOfPage(page: ScenePage, pageIndex: number, pageStart: number): Sound[] {
  return page.layers.flatMap((layer, index): Sound[] => {
    if (layer.kind !== 'sound' && layer.kind !== 'video') return []
    const { fromSeconds: from = 0, path, volume = 1 } = layer
    const { end, start } = spanOf(layer, page)
    if (volume === 0 || end <= start) return []
    const [fadeIn, fadeOut] = [fadeOf(layer.enter), fadeOf(layer.exit)]
    const pointer = `/pages/${pageIndex}/layers/${index}`
    const rest = { start: pageStart + start, seconds: end - start, from, isRepeated: false, fadeIn, fadeOut }
    return [{ pointer, isOptional: layer.kind === 'video', path, volume, ...rest }]
  })
}

function fadeOf(animation: Animation | undefined): number {
  return animation?.effect === 'fade' ? animation.seconds : 0
}

/** @throws MediaWorkError if a file that must have sound has none */
async function hasSound({ isOptional, path, pointer }: Sound, context: WorkContext): Promise<boolean> {
  try {
    const { audio } = await probeWorkable({ path, kind: await fileKind(path), probed: undefined }, context)
    if (audio === null && !isOptional) throw new MediaWorkError('unsupported', 'The file has no sound.')
    return audio !== null
  } catch (error) {
    if (!(error instanceof MediaWorkError)) throw error
    throw new MediaWorkError(error.code, `${pointer}: ${error.message}`, { cause: error })
  }
}

function filterOf({ fadeIn, fadeOut, seconds, start, volume }: Sound): string {
  return [
    'aresample=48000',
    'aformat=sample_fmts=fltp:channel_layouts=stereo',
    `volume=${volume}`,
    ...(fadeIn > 0 ? [`afade=t=in:d=${fadeIn}`] : []),
    ...(fadeOut > 0 ? [`afade=t=out:st=${(seconds - fadeOut).toFixed(3)}:d=${fadeOut.toFixed(3)}`] : []),
    ...(start > 0 ? [`adelay=${Math.round(start * 1000)}:all=1`] : []),
  ].join(',')
}
