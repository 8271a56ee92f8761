import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, expect, test } from 'vitest'
import { runFfmpeg } from '../../testing/ffmpeg.ts'
import { processesOn, useMediaWork } from '../../testing/work-fixture.ts'
import type { Scene, SceneLayer, ScenePage, ShownLayer } from './scene.ts'
import { differentShare } from './testing/pictures.ts'
import { motionOf } from './motion.ts'

/** Videos of the studio. */

const { work, folder } = useMediaWork()
const sound = join(folder, 'sound.mp3')
let count = 0

beforeAll(() => runFfmpeg('-f', 'lavfi', '-i', 'sine=frequency=440:duration=0.5', '-f', 'mp3', sound))

const page = (background: string, rest: Partial<ScenePage> = {}): ScenePage => ({
  width: 320,
  height: 180,
  background,
  layers: [],
  ...rest,
})
const left = { kind: 'box', left: 0, top: 0, width: 160, height: 180, color: '#ffffff' } as const

async function render(scene: Scene, pages = scene.pages.map((_, index) => index)) {
  const output = join(folder, `video-${(count += 1)}`)
  mkdirSync(output)
  writeFileSync(`${output}.json`, JSON.stringify(scene))
  const { files } = await work.render(`${output}.json`, output, { format: 'mp4', pages })
  return files
}

/** The colors of the left and right half of a frame, rounded as the encoder changes them a little. */
async function colorsAt(video: string, seconds: number): Promise<string[]> {
  const frame = `${video}-${seconds}.png`
  await runFfmpeg('-ss', String(seconds), '-i', video, '-frames:v', '1', '-f', 'image2', frame)
  const { data } = await sharp(frame).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (x: number) => [...data.subarray((90 * 320 + x) * 3).subarray(0, 3)]
  return [at(80), at(240)].map((channels) => channels.map((value) => Math.round(value / 32)).join(' '))
}

test('shows the pages one after another, and layers at their times, with the sound until the end', async () => {
  const scene = {
    pages: [
      page('#0000ff', { seconds: 9 }),
      page('#ff0000', { seconds: 1 }),
      page('#008000', { seconds: 2, layers: [{ ...left, startSeconds: 0.5, endSeconds: 1.5 }] }),
    ],
    sound: { path: sound, volume: 0.5 },
  }
  const [file] = await render(scene, [1, 2])
  expect(file).toMatchObject({ mime: 'video/mp4', width: 320, height: 180, seconds: 3 })
  const { path = '' } = file ?? {}
  const [red, green, white] = ['8 0 0', '0 4 0', '8 8 8']
  expect(await colorsAt(path, 0.5)).toEqual([red, red])
  expect(await colorsAt(path, 1.2)).toEqual([green, green])
  expect(await colorsAt(path, 2)).toEqual([white, green])
  expect(await colorsAt(path, 2.8)).toEqual([green, green])
  const probed = await work.probe(path)
  expect(probed).toMatchObject({ video: { codec: 'h264', frameRate: 30 }, audio: { codec: 'aac' } })
  expect(probed.seconds).toBeCloseTo(3, 1)
})

test('has no track of sound without a sound', async () => {
  const [file] = await render({ pages: [page('#0000ff', { seconds: 0.5 })] })
  expect(await work.probe(file?.path ?? '')).toMatchObject({ audio: null })
})

test.each<[string, Scene, string]>([
  ['pages of several sizes', { pages: [page('#000000'), page('#000000', { width: 200 })] }, 'same width and height'],
  ['an odd size', { pages: [page('#000000', { width: 201 })] }, 'even'],
  ['a sound that is none', { pages: [page('#000000')], sound: { path: import.meta.filename } }, '/sound: '],
])('refuses %s', async (_case, scene, message) => {
  await expect(render(scene)).rejects.toMatchObject({
    name: 'MediaWorkError',
    retryable: false,
    message: expect.stringContaining(message),
  })
})

/** A frame of a video, as a picture. */
async function frameAt(video: string, seconds: number): Promise<string> {
  const frame = `${video}-at-${seconds}.png`
  await runFfmpeg('-ss', String(seconds), '-i', video, '-frames:v', '1', '-f', 'image2', frame)
  return frame
}

/** The picture of a page with these layers. */
async function still(layers: readonly SceneLayer[]): Promise<string> {
  const output = join(folder, `still-${(count += 1)}`)
  mkdirSync(output)
  writeFileSync(`${output}.json`, JSON.stringify({ pages: [page('#202060', { layers: [...layers] })] }))
  const { files } = await work.render(`${output}.json`, output, { format: 'png', pages: [0] })
  return files[0]?.path ?? ''
}

/** The share of pixels in which a frame differs from a page with these layers. The encoder softens edges. */
async function differenceAt(video: string, seconds: number, layers: readonly SceneLayer[]): Promise<number> {
  return differentShare(await still(layers), await frameAt(video, seconds), 60)
}

async function videoOf(layers: readonly SceneLayer[], seconds = 2): Promise<string> {
  const [file] = await render({ pages: [page('#202060', { seconds, layers: [...layers] })] })
  return file?.path ?? ''
}

const square = { kind: 'box', left: 120, top: 50, width: 80, height: 80, color: '#ffcc00' } as const
const words = {
  kind: 'text',
  left: 20,
  top: 10,
  width: 280,
  height: 40,
  text: 'Above',
  fontSize: 28,
  color: '#ffffff',
} as const
const MAX_DIFFERENT = 0.01

test('layers fade, slide and zoom as the schema says', async () => {
  const layers: ShownLayer[] = [
    { ...square, enter: { effect: 'fade', seconds: 1 }, exit: { effect: 'zoom', seconds: 0.5 } },
    { ...words, rotation: 10, enter: { effect: 'slide', seconds: 1, side: 'right' } },
  ]
  const video = await videoOf(layers)
  // Half of a second: half of the opacity, and an eighth of the way is left.
  const expected = (opacity: number, left: number): SceneLayer[] => [
    { ...square, opacity },
    { ...words, rotation: 10, left },
  ]
  expect(await differenceAt(video, 0.5, expected(0.5, 20 + 300 / 8))).toBeLessThan(MAX_DIFFERENT)
  expect(await differenceAt(video, 0.5, expected(1, 20 + 300 / 8))).toBeGreaterThan(0.1)
  expect(await differenceAt(video, 0.5, expected(0.5, 20))).toBeGreaterThan(MAX_DIFFERENT)
  expect(await differenceAt(video, 1.3, expected(1, 20))).toBeLessThan(MAX_DIFFERENT)
  // An eighth is gone after half of the exit.
  const small = { ...square, left: 125, top: 55, width: 70, height: 70 }
  expect(await differenceAt(video, 1.75, [small, { ...words, rotation: 10 }])).toBeLessThan(MAX_DIFFERENT)
})

test('a layer is drawn alike whether it moves or not', async () => {
  const rest = [square, { ...words, rotation: -20, opacity: 0.7 }]
  // It still fades in, but so late that nothing of that is visible.
  const slow = rest.map((layer) => ({ ...layer, exit: { effect: 'fade', seconds: 1.999 } as const }))
  expect(await differenceAt(await videoOf(slow), 0, rest)).toBeLessThan(MAX_DIFFERENT)
})

test('shows a part of a video, cut or whole, rotated, with rounded corners, and between other layers', async () => {
  // Its left half gets from black to white within four seconds, its right half is green.
  const source = join(folder, 'source.mp4')
  const grey = "geq=lum='if(lt(X,W/2),T*60,150)':cb='if(lt(X,W/2),128,44)':cr='if(lt(X,W/2),128,21)'"
  await runFfmpeg('-f', 'lavfi', '-i', `color=black:s=160x80:r=25:d=4,${grey}`, '-c:v', 'libx264', '-f', 'mp4', source)
  const clip = { kind: 'video', path: source, left: 40, top: 20, width: 160, height: 80 } as const
  const under = { ...square, left: 20, top: 10, width: 60, height: 160 }
  const layers: ShownLayer[] = [
    under,
    { ...clip, fromSeconds: 2, radius: 30 },
    { ...clip, top: 110, width: 60, height: 60, fit: 'contain' },
    { ...clip, left: 220, height: 80, width: 80, top: 60, rotation: 30, startSeconds: 1 },
    words,
  ]
  const video = await videoOf(layers, 3)
  const picture = await still(layers)
  expect(await differentShare(picture, await frameAt(video, 0), 60)).toBeLessThan(MAX_DIFFERENT)
  // After a second the first is at 3 s of the file. The last frame stays after its end.
  const at = (seconds: number, third: number): ShownLayer[] => [
    under,
    { ...clip, fromSeconds: Math.min(3.95, 2 + seconds), radius: 30 },
    { ...clip, top: 110, width: 60, height: 60, fit: 'contain', fromSeconds: seconds },
    { ...clip, left: 220, height: 80, width: 80, top: 60, rotation: 30, fromSeconds: third },
    words,
  ]
  // Edges of a rotated video are smooth, those of a rotated picture are not.
  expect(await differenceAt(video, 1.5, at(1.5, 0.5))).toBeLessThan(2 * MAX_DIFFERENT)
  expect(await differenceAt(video, 2.9, at(2.9, 1.9))).toBeLessThan(2 * MAX_DIFFERENT)
  expect(await differenceAt(video, 1.5, at(0, 0.5))).toBeGreaterThan(0.05)
})

test('plays sounds at their times: of the project, of layers and of videos', async () => {
  const tone = join(folder, 'tone.mp4')
  const inputs = ['-f', 'lavfi', '-i', 'color=red:s=64x64:d=3', '-f', 'lavfi', '-i', 'sine=frequency=1000:d=3']
  await runFfmpeg(...inputs, '-c:v', 'libx264', '-c:a', 'aac', '-f', 'mp4', tone)
  const place = { left: 0, top: 0, width: 64, height: 64 }
  const [file] = await render({
    pages: [
      page('#000000', { seconds: 1, layers: [{ kind: 'video', path: tone, ...place, volume: 0 }] }),
      page('#000000', {
        seconds: 3,
        layers: [
          { kind: 'sound', path: tone, startSeconds: 0.5, endSeconds: 1.5, fromSeconds: 1 },
          { kind: 'video', path: tone, ...place, startSeconds: 2, volume: 0.5 },
        ],
      }),
    ],
  })
  const samples = join(folder, 'samples')
  await runFfmpeg('-i', file?.path ?? '', '-ac', '1', '-ar', '8000', '-f', 's16le', samples)
  const data = readFileSync(samples)
  const loudness = (from: number, to: number) => {
    const values = Array.from({ length: (to - from) * 8_000 }, (_, at) => data.readInt16LE((from * 8_000 + at) * 2))
    return Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / values.length)
  }
  expect([loudness(0, 1), loudness(1.05, 1.45), loudness(2.6, 2.9)].map((one) => one < 20)).toEqual([true, true, true])
  const [loud, half] = [loudness(1.6, 2.4), loudness(3.1, 3.9)]
  expect(loud).toBeGreaterThan(500)
  expect(loud / half).toBeCloseTo(2, 1)
  const probed = await work.probe(file?.path ?? '')
  expect(probed.seconds).toBeCloseTo(4, 1)
})

test('a waveform shows how loud the sound is, and what was played of it', async () => {
  const steps = join(folder, 'steps.wav')
  // Half as loud in its second half.
  await runFfmpeg(
    '-f',
    'lavfi',
    '-i',
    "sine=frequency=300:d=2,volume='if(lt(t,0.95),1,0.5)':eval=frame",
    '-f',
    'wav',
    steps,
  )
  const bars = { kind: 'waveform', path: steps, left: 40, top: 40, width: 240, height: 100, barCount: 8 } as const
  const colors = { color: '#ffcc00', restColor: '#808080' }
  const video = await videoOf([{ ...bars, ...colors }])
  const bar = (index: number, height: number, color: string): SceneLayer => {
    const place = { left: 40 + index * 30 + 6, width: 18, top: 90 - height / 2, height, radius: 9 }
    return { kind: 'box', ...place, color }
  }
  const expected = (played: number) =>
    Array.from({ length: 8 }, (_, index) => bar(index, index < 4 ? 100 : 50, index < played ? '#ffcc00' : '#808080'))
  expect(await differenceAt(video, 1.1, expected(4))).toBeLessThan(MAX_DIFFERENT)
  expect(await differenceAt(video, 1.1, expected(6))).toBeGreaterThan(MAX_DIFFERENT)
  // The window of four seconds has half a second in each bar: the sound begins in its middle.
  const moving = await videoOf([{ ...bars, ...colors, barRange: 'moving' }])
  const window = [0, 0, 0, 0, 100, 100, 50, 50].map((height, index) =>
    bar(index, Math.max(18, height), index < 4 ? '#ffcc00' : '#808080'),
  )
  expect(await differenceAt(moving, 0.2, window)).toBeLessThan(MAX_DIFFERENT)
})

test.each<[string, SceneLayer, string]>([
  ['a video that is a text', { ...square, kind: 'video', path: import.meta.filename }, '/pages/0/layers/1: '],
  ['a video that is a sound', { ...square, kind: 'video', path: sound }, '/pages/0/layers/1: The file has no video.'],
  [
    'a waveform of a text',
    { ...square, kind: 'waveform', restColor: '#000000', path: import.meta.filename },
    '/pages/0/layers/1: ',
  ],
  ['a sound that is a text', { kind: 'sound', path: import.meta.filename }, '/pages/0/layers/1: '],
])('refuses %s, with the pointer of the layer', async (_case, layer, message) => {
  await expect(videoOf([words, layer])).rejects.toMatchObject({
    name: 'MediaWorkError',
    retryable: false,
    message: expect.stringContaining(message),
  })
})

test('an animation begins invisible and ends at rest, and an exit is the same backwards', () => {
  const one = page('#000000', { seconds: 4 })
  const slide = { effect: 'slide', seconds: 1, side: 'top' } as const
  const layer = { ...square, startSeconds: 1, endSeconds: 3, enter: slide, exit: slide } as const
  expect(motionOf(layer, one, 0.9)).toBeUndefined()
  expect(motionOf(layer, one, 1)).toMatchObject({ moving: true, dx: 0, dy: -130 })
  expect(motionOf(layer, one, 1.5)).toMatchObject({ moving: true, dy: -130 / 8 })
  expect(motionOf(layer, one, 2)).toMatchObject({ moving: false, dy: 0, opacity: 1, scale: 1 })
  expect(motionOf(layer, one, 2.5)).toMatchObject({ moving: true, dy: -130 / 8 })
  expect(motionOf(layer, one, 3)).toBeUndefined()
})

test('a cancelled rendering leaves no process and no file', async () => {
  const output = join(folder, 'cancelled')
  mkdirSync(output)
  const layers = [{ ...square, enter: { effect: 'zoom', seconds: 500 } as const }]
  writeFileSync(`${output}.json`, JSON.stringify({ pages: [page('#000000', { seconds: 500, layers })] }))
  const cancel = new AbortController()
  const rendering = work.render(
    `${output}.json`,
    output,
    { format: 'mp4', pages: [0] },
    {
      signal: cancel.signal,
      onProgress: () => cancel.abort(),
    },
  )
  await expect(rendering).rejects.toMatchObject({ code: 'cancelled' })
  expect(processesOn(output)).toEqual([])
  expect(readdirSync(output)).toEqual([])
})
