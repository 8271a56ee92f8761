import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode } from 'blurhash'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { makeHeic } from '../testing/heic-file.ts'
import { makePdf } from '../testing/pdf-file.ts'
import { useMediaWork } from '../testing/work-fixture.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { openSvg } from './thumbnails/svg.ts'

const { work, folder } = useMediaWork()
const path = (name: string) => join(folder, name)

/** 300 × 200 pixels, red on the left and green on the right. */
const redGreen = () =>
  sharp({ create: { width: 300, height: 200, channels: 3, background: '#f00' } }).composite([
    { input: { create: { width: 150, height: 200, channels: 3, background: '#0f0' } }, left: 150, top: 0 },
  ])

const LAVFI = 'color=red:s=320x240:r=10,drawbox=x=160:c=green:t=fill'

beforeAll(async () => {
  await Promise.all([
    redGreen().jpeg().toFile(path('jpeg')),
    redGreen().png().toFile(path('png')),
    redGreen().webp({ lossless: true }).toFile(path('webp')),
    redGreen().avif({ quality: 90 }).toFile(path('avif')),
    redGreen().gif().toFile(path('gif')),
  ])
  writeFileSync(
    path('svg'),
    '<?xml version="1.0"?><!-- a drawing --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 20">' +
      '<rect width="15" height="20" fill="#f00"/><rect x="15" width="15" height="20" fill="#0f0"/></svg>',
  )
  await makeHeic(path('heic'), 'color=0xff0000:s=300x200,drawbox=x=150:c=0x00ff00:t=fill', { width: 300, height: 200 })
})

/** Red, green and blue of one pixel, at fractions of the width and height. */
async function colorAt(file: string, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const at = (Math.floor(info.height * y) * info.width + Math.floor(info.width * x)) * 3
  return [...data.subarray(at, at + 3)]
}

function nameOf([red = 0, green = 0, blue = 0]: Iterable<number>): string {
  if (Math.min(red, green, blue) > 200) return 'white'
  if (Math.max(red, green, blue) < 60) return 'black'
  return red > green && red > blue ? 'red' : green > blue ? 'green' : 'blue'
}

async function make(name: string, options: Partial<Parameters<typeof work.thumbnails>[2]> = {}) {
  const output = path(`${name}-thumbnails-${Math.random()}`)
  mkdirSync(output)
  return work.thumbnails(path(name), output, { sizes: [{ name: 'large', edge: 120 }], ...options })
}

describe('images', () => {
  test.each(['jpeg', 'png', 'webp', 'avif', 'gif', 'svg', 'heic'])('makes thumbnails of %s', async (name) => {
    const { kind, thumbnails, blurhash, peaks } = await make(name)
    expect({ kind, peaks }).toEqual({ kind: 'image', peaks: null })
    const [large] = thumbnails
    expect(large).toMatchObject({ name: 'large', width: 120, height: 80 })
    expect(await sharp(large?.path).metadata()).toMatchObject({ format: 'webp', width: 120, height: 80 })
    expect(statSync(large?.path ?? '').size).toBe(large?.bytes)
    expect(nameOf(await colorAt(large?.path ?? '', 0.2, 0.5))).toBe('red')
    expect(nameOf(await colorAt(large?.path ?? '', 0.8, 0.5))).toBe('green')
    const hash = decode(blurhash, 4, 1)
    expect([nameOf(hash.slice(0, 3)), nameOf(hash.slice(12, 15))]).toEqual(['red', 'green'])
  })

  test('makes several sizes without enlarging, and crops to a square', async () => {
    const { thumbnails } = await make('png', {
      format: 'jpeg',
      sizes: [
        { name: 'huge', edge: 4000 },
        { name: 'small', edge: 50 },
        { name: 'square', edge: 64, fit: 'cover' },
      ],
    })
    expect(thumbnails.map(({ name, width, height }) => ({ name, width, height }))).toEqual([
      { name: 'huge', width: 300, height: 200 },
      { name: 'small', width: 50, height: 33 },
      { name: 'square', width: 64, height: 64 },
    ])
    expect(await sharp(thumbnails[0]?.path).metadata()).toMatchObject({ format: 'jpeg' })
  })

  test('keeps transparency in WebP and makes it white in JPEG', async () => {
    await sharp({ create: { width: 40, height: 40, channels: 4, background: '#0000' } })
      .png()
      .toFile(path('clear'))
    const [webp] = (await make('clear')).thumbnails
    expect(await sharp(webp?.path).stats()).toMatchObject({ isOpaque: false })
    const [jpeg] = (await make('clear', { format: 'jpeg' })).thumbnails
    expect(nameOf(await colorAt(jpeg?.path ?? '', 0.5, 0.5))).toBe('white')
  })

  /** By orientation, the colors of the four corners as shown, from the top left. They are stored as red, green, blue and black. */
  const UPRIGHT = {
    1: 'red green blue black',
    2: 'green red black blue',
    3: 'black blue green red',
    4: 'blue black red green',
    5: 'red blue green black',
    6: 'blue red black green',
    7: 'black green blue red',
    8: 'green black red blue',
  } as const

  test.each(Object.entries(UPRIGHT))('applies EXIF orientation %s', async (orientation, corners) => {
    const quarter = (background: string, left: number, top: number) => ({
      input: { create: { width: 60, height: 40, channels: 3 as const, background } },
      left,
      top,
    })
    await sharp({ create: { width: 120, height: 80, channels: 3, background: '#000' } })
      .composite([quarter('#f00', 0, 0), quarter('#0f0', 60, 0), quarter('#00f', 0, 40)])
      .withExif({ IFD3: { GPSLatitude: '51/1 30/1 0/1', GPSLatitudeRef: 'N' } })
      .withMetadata({ orientation: Number(orientation) })
      .jpeg({ quality: 95 })
      .toFile(path(`turned-${orientation}`))
    const [large] = (await make(`turned-${orientation}`)).thumbnails
    const upright = Number(orientation) < 5
    expect(large).toMatchObject(upright ? { width: 120, height: 80 } : { width: 80, height: 120 })
    const points = [0.25, 0.75].flatMap((y) => [0.25, 0.75].map((x) => [x, y] as const))
    const colors = await Promise.all(points.map(([x, y]) => colorAt(large?.path ?? '', x, y)))
    expect(colors.map(nameOf).join(' ')).toBe(corners)

    expect((await sharp(path(`turned-${orientation}`)).metadata()).exif).toBeDefined()
    const { exif, xmp, icc, orientation: left } = await sharp(large?.path).metadata()
    expect({ exif, xmp, icc, left }).toEqual({ exif: undefined, xmp: undefined, icc: undefined, left: undefined })
    const { width, height, rotation } = await work.probe(path(`turned-${orientation}`))
    expect({ width, height }).toEqual(upright ? { width: 120, height: 80 } : { width: 80, height: 120 })
    expect(rotation).toBe({ 3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270 }[orientation] ?? 0)
  })

  test('applies the rotation of HEIC', async () => {
    const size = { width: 300, height: 200, quarterTurns: 1 }
    await makeHeic(path('heic-turned'), 'color=0xff0000:s=300x200,drawbox=x=150:c=0x00ff00:t=fill', size)
    const [large] = (await make('heic-turned')).thumbnails
    expect(large).toMatchObject({ width: 80, height: 120 })
    // The rotation is counter-clockwise, so the right side is on top.
    expect(nameOf(await colorAt(large?.path ?? '', 0.5, 0.2))).toBe('green')
  })
})

test('does not load external references of an SVG', async () => {
  const secret = path('secret.png')
  await sharp({ create: { width: 10, height: 10, channels: 3, background: '#f00' } })
    .png()
    .toFile(secret)
  writeFileSync(
    path('reaching'),
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100">' +
      '<style>@import url("file:///etc/passwd"); rect { fill: #00f }</style><script>throw 1</script>' +
      `<rect width="100" height="100"/><image href="file://${secret}" width="100" height="100"/>` +
      `<image xlink:href="${secret}" width="100" height="100"/><image href="secret.png" width="100" height="100"/></svg>`,
  )
  const [large] = (await make('reaching')).thumbnails
  expect(nameOf(await colorAt(large?.path ?? '', 0.5, 0.5))).toBe('blue')
})

test.each([
  ['declared larger', 9_000, 6_000, [1_920, 1_280]],
  ['declared smaller', 300, 200, [1_280, 853]],
  ['very wide', 90_000, 100, [16_384, 18]],
])('renders an SVG at the requested size: %s', async (_what, width, height, rendered) => {
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%"/></svg>`
  writeFileSync(path('sized'), text)
  const kind = { decoder: 'svg', mime: 'image/svg+xml', bytes: text.length } as const
  const bounds = { limits: DEFAULT_LIMITS, signal: new AbortController().signal }
  const picture = await openSvg(path('sized'), kind, 1_280, bounds)
  expect([picture.width, picture.height]).toEqual(rendered)
})

describe('an SVG that takes long to render', () => {
  const renderSvg = (inside: string) => {
    const text = `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="1280">${inside}</svg>`
    writeFileSync(path('costly'), text)
    const kind = { decoder: 'svg', mime: 'image/svg+xml', bytes: text.length } as const
    return openSvg(path('costly'), kind, 1_280, { limits: DEFAULT_LIMITS, signal: new AbortController().signal })
  }
  const GRADIENT =
    '<radialGradient id="g"><stop stop-color="red"/><stop offset="1" stop-color="blue"/></radialGradient>'
  const filled = (times: number) => `${GRADIENT}${'<rect width="1280" height="1280" fill="url(#g)"/>'.repeat(times)}`

  test('is rendered smaller', async () => {
    expect((await renderSvg(filled(10))).width).toBe(1_280)
    // How many take long depends on the processor. The smaller size costs a sixteenth.
    let width = 1_280
    for (let times = 20; width === 1_280 && times < 1_000; times = Math.ceil(times * 1.5)) {
      ;({ width } = await renderSvg(filled(times)))
    }
    expect(width).toBe(320)
  })

  test.each([
    ['fills', filled(10_000)],
    [
      'rules',
      `<style>${'g>g rect.a:first-child{fill:red}'.repeat(9_000)}</style>${'<rect class="a b c"/>'.repeat(20_000)}`,
    ],
  ])('is refused if the smaller size takes long too: %s', async (_what, inside) => {
    await expect(renderSvg(inside)).rejects.toMatchObject({ code: 'timed_out', retryable: false })
  })
})

describe('video', () => {
  test('picks a frame that is not blank, and applies rotation', async () => {
    // Two seconds of black, one second of white, then red and green.
    const parts = ['color=black:s=320x240:r=10:d=2', 'color=white:s=320x240:r=10:d=1', `${LAVFI},trim=duration=2`]
    const inputs = parts.flatMap((part) => ['-f', 'lavfi', '-i', part])
    const codec = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-f', 'mp4']
    await runFfmpeg(...inputs, '-filter_complex', 'concat=n=3', ...codec, path('unturned.mp4'))
    await runFfmpeg('-i', path('unturned.mp4'), '-c', 'copy', '-metadata:s:v', 'rotate=90', '-f', 'mp4', path('video'))
    const { kind, thumbnails } = await make('video')
    expect(kind).toBe('video')
    expect(thumbnails[0]).toMatchObject({ width: 90, height: 120 })
    const ends = await Promise.all([0.1, 0.9].map((y) => colorAt(thumbnails[0]?.path ?? '', 0.5, y)))
    expect(ends.map(nameOf).sort()).toEqual(['green', 'red'])
  })

  test('uses a black frame if the video is black', async () => {
    await runFfmpeg(
      '-f',
      'lavfi',
      '-i',
      'color=black:s=64x48:r=5:d=1',
      '-c:v',
      'libx264',
      '-f',
      'matroska',
      path('black'),
    )
    const [large] = (await make('black')).thumbnails
    expect(nameOf(await colorAt(large?.path ?? '', 0.5, 0.5))).toBe('black')
  })
})

test('draws a waveform with the peaks of the audio', async () => {
  const source = 'aevalsrc=0.9*sin(2*PI*440*t)*gt(t\\,1):d=2:s=16000'
  await runFfmpeg('-f', 'lavfi', '-i', source, '-f', 'wav', path('sound'))
  const { kind, thumbnails, peaks } = await make('sound')
  expect(kind).toBe('audio')
  expect(thumbnails[0]).toMatchObject({ width: 120, height: 36 })
  expect(peaks).toHaveLength(200)
  expect(Math.max(...(peaks ?? []).slice(0, 95))).toBeLessThan(0.05)
  expect(Math.min(...(peaks ?? []).slice(105))).toBeGreaterThan(0.8)
})

test('renders the first page of a document', async () => {
  writeFileSync(path('pdf'), makePdf(3))
  const { kind, thumbnails } = await make('pdf')
  expect(kind).toBe('document')
  expect(thumbnails[0]).toMatchObject({ width: 90, height: 120 })
  const colors = await Promise.all([0.25, 0.75].map((y) => colorAt(thumbnails[0]?.path ?? '', 0.5, y)))
  expect(colors.map(nameOf)).toEqual(['white', 'red'])
  expect(await work.probe(path('pdf'))).toMatchObject({ kind: 'document', pages: 3, mime: 'application/pdf' })
})
