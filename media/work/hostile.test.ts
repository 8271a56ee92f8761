import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg, findFfmpeg } from '../testing/ffmpeg.ts'
import { makeHeic } from '../testing/heic-file.ts'
import { makePdf } from '../testing/pdf-file.ts'
import { filesIn, useMediaWork } from '../testing/work-fixture.ts'
import { Ffmpeg } from './ffmpeg/ffmpeg.ts'
import { DEFAULT_LIMITS } from './limits.ts'

const { work, folder, tempDir } = useMediaWork()
const path = (name: string) => join(folder, name)
const sizes = [{ name: 'only', edge: 64 }]

beforeAll(async () => {
  mkdirSync(path('out'))
  const create = { width: 400, height: 300, channels: 3, background: '#888' } as const
  const noise = () => sharp({ create: { ...create, noise: { type: 'gaussian', mean: 128, sigma: 40 } } })
  await Promise.all([
    noise().jpeg().toFile(path('jpeg')),
    noise().png().toFile(path('png')),
    noise().webp().toFile(path('webp')),
    noise().gif().toFile(path('gif')),
    noise().avif({ effort: 0 }).toFile(path('avif')),
  ])
  await makeHeic(path('heic'), 'testsrc=s=320x240', { width: 320, height: 240 })
  const source = [
    '-f',
    'lavfi',
    '-i',
    'testsrc=size=320x180:rate=25:duration=4',
    '-c:v',
    'libx264',
    '-pix_fmt',
    'yuv420p',
  ]
  await runFfmpeg(...source, '-movflags', '+faststart', '-f', 'mp4', path('mp4'))
  await runFfmpeg('-i', path('mp4'), '-c', 'copy', '-f', 'mpegts', path('segment.ts'))
  writeFileSync(path('pdf'), makePdf(2))
})

const thumbnails = (name: string) => work.thumbnails(path(name), path('out'), { sizes })

describe('truncated files', () => {
  test.each(['jpeg', 'png', 'webp', 'gif', 'avif', 'heic', 'mp4'])('refuses a truncated %s', async (name) => {
    const bytes = readFileSync(path(name))
    writeFileSync(path(`cut-${name}`), bytes.subarray(0, Math.floor(bytes.length * 0.7)))
    await expect(thumbnails(`cut-${name}`)).rejects.toMatchObject({ code: 'truncated', retryable: false })
    expect(filesIn(path('out'))).toEqual([])
  })
})

describe('garbage after a valid header', () => {
  test.each([
    ['jpeg', 30],
    ['png', 40],
    ['webp', 20],
    ['gif', 14],
    ['avif', 32],
    ['heic', 32],
    ['mp4', 32],
    ['pdf', 9],
  ])('refuses a damaged %s', async (name, kept) => {
    const garbage = Buffer.alloc(5000, 'the quick brown fox ')
    writeFileSync(path(`garbage-${name}`), Buffer.concat([readFileSync(path(name)).subarray(0, kept), garbage]))
    const failure = await thumbnails(`garbage-${name}`).catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'MediaWorkError', retryable: false })
    expect(['damaged', 'truncated', 'too_large', 'unsupported']).toContain((failure as { code: string }).code)
  })

  test('fails at most one job for a video with a damaged middle', async () => {
    const bytes = readFileSync(path('mp4'))
    bytes.fill(0xff, Math.floor(bytes.length * 0.4), Math.floor(bytes.length * 0.6))
    writeFileSync(path('hole'), bytes)
    const outcome = await thumbnails('hole').then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
    expect(['done', 'damaged', 'truncated']).toContain(outcome)
  })
})

describe('decompression bombs', () => {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const frame = Buffer.alloc(8)
    frame.writeUInt32BE(data.length, 0)
    frame.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
  }
  const png = (width: number, height: number, rows: Buffer) => {
    const header = Buffer.alloc(13)
    header.writeUInt32BE(width, 0)
    header.writeUInt32BE(height, 4)
    header.writeUInt8(1, 8)
    const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    const end = chunk('IEND', Buffer.alloc(0))
    return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), end])
  }

  test('refuses a header of 30,000 × 30,000 pixels without decoding', async () => {
    writeFileSync(path('header'), png(30_000, 30_000, Buffer.alloc(1000)))
    // A small file that decompresses to 113 MB, and to 2.7 GB as RGB pixels.
    writeFileSync(path('zeroes'), png(30_000, 30_000, Buffer.alloc(3751 * 30_000)))
    const processes = work.stats().quick.pids
    for (const name of ['header', 'zeroes']) {
      await expect(thumbnails(name)).rejects.toMatchObject({ code: 'too_large' })
      await expect(work.probe(path(name))).rejects.toMatchObject({ code: 'too_large' })
    }
    expect(work.stats().quick.pids).toEqual(processes)
  })

  test('refuses SVG files with nested entities, huge dimensions, many bytes or includes', async () => {
    const laughs = Array.from({ length: 9 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`)
    writeFileSync(path('laughs'), `<!DOCTYPE svg [<!ENTITY l0 "ha">${laughs.join('')}]><svg><text>&l9;</text></svg>`)
    await expect(thumbnails('laughs')).rejects.toMatchObject({ code: 'unsupported' })
    writeFileSync(path('wide'), '<svg xmlns="http://www.w3.org/2000/svg" width="30000" height="30000"/>')
    await expect(thumbnails('wide')).rejects.toMatchObject({ code: 'too_large' })
    writeFileSync(path('heavy'), `<svg xmlns="http://www.w3.org/2000/svg"><!--${' '.repeat(5 * 2 ** 20)}--></svg>`)
    await expect(thumbnails('heavy')).rejects.toMatchObject({ code: 'too_large' })
    writeFileSync(
      path('xinclude'),
      '<svg xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd"/></svg>',
    )
    await expect(thumbnails('xinclude')).rejects.toMatchObject({ code: 'unsupported' })
  })
})

describe('playlists named as videos', () => {
  test.each([
    ['#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nsegment.ts\n#EXT-X-ENDLIST\n'],
    ['ffconcat version 1.0\nfile segment.ts\n'],
    ['<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"></MPD>'],
  ])('refuses %j', async (text) => {
    const list = path('list.mp4')
    writeFileSync(list, text)
    await expect(work.probe(list)).rejects.toMatchObject({ code: 'unsupported' })
    await expect(work.transcode(list, path('copied'), { kind: 'video' })).rejects.toMatchObject({ code: 'unsupported' })

    // ffmpeg itself refuses it too, in case a playlist is ever detected as a video.
    const ffmpegPath = findFfmpeg()
    const ffmpeg = new Ffmpeg({ ffmpegPath, ffprobePath: undefined, limits: DEFAULT_LIMITS })
    const { signal } = new AbortController()
    const job = { input: list, outputOptions: ['-c', 'copy', '-f', 'mp4'], output: path('copied'), signal }
    await expect(ffmpeg.run(job)).rejects.toMatchObject({ name: 'MediaWorkError', retryable: false })
    expect(filesIn(folder)).not.toContain('copied')
  })
})

test('refuses other files, missing paths and invalid sizes', async () => {
  writeFileSync(path('text'), 'a letter')
  writeFileSync(path('empty'), '')
  await expect(thumbnails('text')).rejects.toMatchObject({ code: 'unsupported' })
  await expect(thumbnails('empty')).rejects.toMatchObject({ code: 'truncated' })
  await expect(thumbnails('absent')).rejects.toMatchObject({ code: 'missing' })
  await expect(thumbnails('out')).rejects.toMatchObject({ code: 'missing' })
  await expect(work.thumbnails(path('jpeg'), path('nowhere'), { sizes })).rejects.toMatchObject({ code: 'missing' })
  const invalidSizes = [[], [{ name: '../up', edge: 64 }], [{ name: 'a', edge: 5 }], [sizes[0], sizes[0]]] as const
  for (const some of invalidSizes) {
    const attempt = work.thumbnails(path('jpeg'), path('out'), { sizes: some as unknown as typeof sizes })
    await expect(attempt).rejects.toMatchObject({ code: 'invalid_settings' })
  }
})

test('names the reason when the output folder is missing, also with other work at the same time', async () => {
  const many = [64, 80, 96, 112].map((edge) => ({ name: `at-${edge}`, edge }))
  const codes = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const failure = await work
        .thumbnails(path('jpeg'), path('nowhere'), { sizes: many })
        .catch((error: unknown) => error)
      return (failure as { code: string }).code
    }),
  )
  expect(new Set(codes)).toEqual(new Set(['missing']))
})

test('loses no process, leaves no files, and shows no paths in messages', async () => {
  expect(work.stats().quick.deaths).toBe(0)
  expect(filesIn(tempDir)).toEqual([])
  const failures = await Promise.all(['text', 'cut-jpeg', 'cut-mp4'].map((name) => thumbnails(name).catch(String)))
  expect(JSON.stringify(failures)).not.toContain(folder)
  expect(await thumbnails('jpeg')).toMatchObject({ kind: 'image' })
})
