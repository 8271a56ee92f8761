import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { useMediaWork } from '../../testing/work-fixture.ts'
import { differentShare, pixelsOf } from './testing/pictures.ts'
import type { RenderOrder, SceneLayer, ScenePage, TextLayer } from './scene.ts'

/** Pictures of the studio, compared by pixels with references, which were looked at. */

const { work, folder } = useMediaWork()
const REFERENCES = join(import.meta.dirname, 'references')
/** Read once, so that a repeated test does not find what it has written itself. */
const known = new Set(readdirSync(REFERENCES))
/** Of a channel, from 0 to 255. Edges of letters differ by the processor's floating-point units. */
const TOLERANCE = 24
/** The share of pixels that may differ by more. */
const MAX_DIFFERENT = 0.002

let count = 0
const photo = join(folder, 'photo')

beforeAll(async () => {
  const half = { create: { width: 150, height: 200, channels: 3, background: '#3cb44b' } } as const
  await sharp({ create: { width: 300, height: 200, channels: 3, background: '#e6194b' } })
    .composite([{ input: half, left: 150, top: 0 }])
    .png()
    .toFile(photo)
})

const text = (content: string, rest: Partial<TextLayer> = {}): TextLayer => ({
  kind: 'text',
  left: 20,
  top: 20,
  width: 360,
  height: 160,
  text: content,
  fontSize: 32,
  color: '#111111',
  ...rest,
})
const page = (...layers: SceneLayer[]): ScenePage => ({ width: 400, height: 200, background: '#ffffff', layers })

async function render(pages: readonly ScenePage[], order: Partial<RenderOrder> = {}) {
  const output = join(folder, `rendered-${(count += 1)}`)
  mkdirSync(output)
  const scene = `${output}.json`
  writeFileSync(scene, JSON.stringify({ pages }))
  return work.render(scene, output, { format: 'png', pages: pages.map((_, index) => index), ...order })
}

/** The path of the only picture of a page. */
async function picture(...layers: SceneLayer[]): Promise<string> {
  const { files } = await render([page(...layers)])
  return files[0]?.path ?? ''
}

/** The share of pixels that differ from the reference. A missing one is written, and the test fails. */
async function difference(name: string, path: string): Promise<number> {
  const reference = join(REFERENCES, `${name}.png`)
  if (!known.has(`${name}.png`)) {
    writeFileSync(reference, readFileSync(path))
    throw new Error(`${reference} was missing and has been written. Look at it, and run the test again.`)
  }
  return differentShare(reference, path, TOLERANCE)
}

const SCENES: Record<string, SceneLayer[]> = {
  layers: [
    { kind: 'box', left: 10, top: 10, width: 180, height: 180, color: '#4363d8', radius: 40 },
    { kind: 'picture', left: 110, top: 40, width: 120, height: 120, path: photo, radius: 20, opacity: 0.8 },
    { kind: 'box', left: 260, top: 50, width: 100, height: 100, color: '#ffe11980', rotation: 30 },
  ],
  fit: [
    { kind: 'picture', left: 0, top: 0, width: 200, height: 200, path: photo, fit: 'cover' },
    { kind: 'picture', left: 200, top: 0, width: 200, height: 200, path: photo, fit: 'contain' },
  ],
  latin: [text('Ærøskøbing, Ελλάδα, Київ: two lines of bold text', { fontWeight: 'bold', align: 'center' })],
  arabic: [text('مرحبا بالعالم، نحن على الهواء 2026', { fontSize: 36 })],
  hebrew: [text('שלום עולם! LIVE היום', { fontSize: 36 })],
  cjk: [text('今日は骨\n오늘 라이브\n们来这里说话\n這裡說話', { fontSize: 28 })],
  thai: [text('สวัสดีชาวโลก น้ำ\nनमस्ते दुनिया', { fontSize: 36 })],
  emoji: [text('🎉 👩🏽‍🚀 🇺🇦 ❤️ 👨‍👩‍👧 ok 1️⃣', { fontSize: 36 })],
  divided: [
    text('Die Verkehrsinfrastrukturfinanzierungsgesellschaft lädt zur Jahreshauptversammlung ein', {
      width: 170,
      height: 190,
      top: 5,
    }),
    text('Достопримечательности', { left: 210, width: 180, height: 72, shrink: true }),
    text('คอนเสิร์ตการกุศลจัดขึ้นที่หอประชุมใหญ่', { left: 210, top: 90, width: 180, height: 100 }),
  ],
  balanced: [
    text('The last line is never a single word.', { width: 330, height: 80 }),
    text('A caption is balanced with its box too', { top: 110, width: 360, boxColor: '#ffe119', height: 80 }),
  ],
  shade: [{ kind: 'box', left: 0, top: 0, width: 400, height: 200, color: '#4363d8ff', endColor: '#4363d800' }],
  boxed: [
    text('A caption', { boxColor: '#000000', color: '#ffffff', align: 'center', verticalAlign: 'bottom' }),
    text('It shrinks until the whole text fits the layer, however long it is.', {
      height: 60,
      shrink: true,
      fontSize: 80,
    }),
  ],
}

test.each(Object.keys(SCENES))('renders %s like the reference', async (name) => {
  const path = await picture(...(SCENES[name] ?? []))
  expect(await difference(name, path)).toBeLessThan(MAX_DIFFERENT)
})

test('a reference with another text, color or place is told apart', async () => {
  const [layer] = SCENES['latin'] as [TextLayer]
  for (const change of [{ text: layer.text.replace('two', 'six') }, { color: '#804040' }, { left: 23 }]) {
    expect(await difference('latin', await picture({ ...layer, ...change }))).toBeGreaterThan(MAX_DIFFERENT)
  }
})

test('renders the ordered pages in the ordered format', async () => {
  const colored = (background: string) => ({ ...page(), background })
  const { files } = await render([colored('#ff0000'), colored('#00ff00'), colored('#0000ff80')], {
    format: 'jpeg',
    pages: [2, 0],
  })
  expect(files.map(({ height, mime, width }) => [mime, width, height])).toEqual([
    ['image/jpeg', 400, 200],
    ['image/jpeg', 400, 200],
  ])
  const first = await Promise.all(files.map(async ({ path }) => [...(await pixelsOf(path)).data.subarray(0, 3)]))
  const near = (actual: number[] | undefined, expected: number[]) =>
    expected.every((value, at) => Math.abs(value - (actual?.[at] ?? -99)) < 6)
  expect(near(first[0], [127, 127, 255])).toBe(true)
  expect(near(first[1], [255, 0, 0])).toBe(true)
})

describe('refuses, with the pointer of the layer,', () => {
  const layers: [string, SceneLayer, string][] = [
    ['characters that no font has', text('cuneiform 𒀀'), '/pages/0/layers/1/text: No font'],
    [
      'a file that is not a picture',
      { kind: 'picture', left: 0, top: 0, width: 9, height: 9, path: import.meta.filename },
      '/pages/0/layers/1: ',
    ],
  ]
  test.each(layers)('%s', async (_case, layer, message) => {
    await expect(picture(text('fine'), layer)).rejects.toMatchObject({
      name: 'MediaWorkError',
      retryable: false,
      message: expect.stringContaining(message),
    })
  })

  test('pictures that need too much memory', async () => {
    const large = (height: number): SceneLayer => ({
      kind: 'picture',
      left: 0,
      top: 0,
      width: 8_000,
      height,
      path: photo,
    })
    await expect(picture(large(4_000), large(4_001))).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('/pages/0/layers/1: '),
    })
  })
})

test('text is never markup', async () => {
  const path = await picture(text('<b style="color:red">&amp;</b>'))
  expect(await difference('markup', path)).toBeLessThan(MAX_DIFFERENT)
})

test('stops when it is cancelled, and leaves no files', async () => {
  const cancelled = new AbortController()
  cancelled.abort()
  const scene = join(folder, 'cancelled.json')
  writeFileSync(scene, JSON.stringify({ pages: [page(text('a'))] }))
  const order = { format: 'png', pages: [0] } as const
  await expect(work.render(scene, folder, order, { signal: cancelled.signal })).rejects.toThrow()
  expect(existsSync(join(folder, 'rendered-0'))).toBe(false)
})
