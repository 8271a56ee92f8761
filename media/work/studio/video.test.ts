import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, expect, test } from 'vitest'
import { runFfmpeg } from '../../testing/ffmpeg.ts'
import { useMediaWork } from '../../testing/work-fixture.ts'
import type { Scene, ScenePage } from './scene.ts'
import { stillsOf } from './times.ts'

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

test('refuses more changes than it can store', async () => {
  const layers = Array.from({ length: 601 }, (_, index) => ({ ...left, startSeconds: index / 150 }))
  await expect(render({ pages: [page('#000000', { layers })] })).rejects.toMatchObject({ code: 'too_large' })
})

test('a page is divided at the times of its layers, and not after its end', () => {
  const layers = [{ ...left, startSeconds: 1, endSeconds: 2 }, { ...left, startSeconds: 2, endSeconds: 9 }, left]
  expect(stillsOf(page('#000000', { seconds: 4, layers }))).toEqual([
    { from: 0, seconds: 1 },
    { from: 1, seconds: 1 },
    { from: 2, seconds: 2 },
  ])
})
