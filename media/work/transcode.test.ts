import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg, findFfmpeg } from '../testing/ffmpeg.ts'
import { makeHeic } from '../testing/heic-file.ts'
import { makePdf } from '../testing/pdf-file.ts'
import { filesIn, useMediaWork } from '../testing/work-fixture.ts'
import type { TranscodeSpec } from './transcode/spec.ts'
import type { Progress, TranscodeOptions } from './types.ts'

const { work, folder, tempDir } = useMediaWork()
const path = (name: string) => join(folder, name)

beforeAll(async () => {
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=480x270:rate=25:duration=4']
  // Quiet in the first half, loud in the second.
  const noise = "anoisesrc=color=pink:seed=1:duration=4:sample_rate=48000,volume='if(gt(t,2),0.1,0.03)':eval=frame"
  const metadata = ['-metadata', 'location=+51.5-0.1/', '-metadata', 'title=private']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac']
  await runFfmpeg(...picture, '-f', 'lavfi', '-i', noise, ...codecs, ...metadata, '-f', 'mp4', path('source'))
})

let made = 0
async function transcode(name: string, spec: TranscodeSpec, options?: TranscodeOptions) {
  const output = path(`result-${made++}`)
  const result = await work.transcode(path(name), output, spec, options)
  expect(statSync(output).size).toBe(result.bytes)
  return { ...result, output }
}

/** Integrated loudness, measured by ffmpeg. */
function loudnessOf(file: string): number {
  const args = ['-hide_banner', '-nostats', '-i', file, '-map', '0:a:0', '-af', 'ebur128', '-f', 'null', '-']
  const { stderr } = spawnSync(findFfmpeg(), args, { encoding: 'utf8' })
  return Number(/Summary:[^]*?I:\s+(-?[\d.]+) LUFS/.exec(stderr)?.[1])
}

/** The duration according to ffprobe. */
function durationOf(file: string): number {
  return Number(execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]))
}

function tagsOf(file: string): string {
  return execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'format_tags', '-of', 'json', file], {
    encoding: 'utf8',
  })
}

describe('video', () => {
  test('makes H.264 and AAC at -14 LUFS, with the index first and without metadata', async () => {
    const steps: Progress[] = []
    const { output, loudness, ...result } = await transcode(
      'source',
      { kind: 'video' },
      { onProgress: (step) => steps.push(step) },
    )
    expect(result).toMatchObject({ mime: 'video/mp4', width: 480, height: 270 })
    expect(await work.probe(output)).toMatchObject({
      video: { codec: 'h264', pixelFormat: 'yuv420p', frameRate: 25 },
      audio: { codec: 'aac', channels: 2, sampleRate: 48_000 },
    })
    const bytes = readFileSync(output)
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'))
    expect(tagsOf(path('source'))).toContain('private')
    expect(tagsOf(output)).not.toMatch(/private|51\.5/)
    expect(loudness?.target).toBe(-14)
    expect(Math.abs((loudness?.measured ?? 0) - loudnessOf(path('source')))).toBeLessThan(1)
    expect(loudness?.measured).toBeLessThan(-20)
    expect(Math.abs(loudnessOf(output) + 14)).toBeLessThan(1)

    const fractions = steps.map(({ fraction }) => fraction)
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b))
    expect(steps.at(-1)).toMatchObject({ fraction: 1, etaSeconds: 0 })
  })

  test.each([
    [{ aspect: '4:5' }, 216, 270],
    [{ aspect: '1:1', fit: 'pad', maxHeight: 240 }, 240, 240],
    [{ preset: 'facebook-reel' }, 540, 960],
  ] as const)('applies %o', async (settings, width, height) => {
    const spec = { kind: 'video', ...settings, loudness: null, trim: { to: 3 }, crf: 40 } as const
    const { output, ...result } = await transcode('source', spec)
    expect(result).toMatchObject({ width, height, loudness: null })
    expect(await work.probe(output)).toMatchObject({ width, height })
  })

  test('trims, removes audio and reduces the frame rate', async () => {
    const spec = { kind: 'video', trim: { from: 1, to: 2.5 }, mute: true, fps: 10 } as const
    const { output, seconds } = await transcode('source', spec)
    expect(seconds).toBeCloseTo(1.5, 1)
    expect(await work.probe(output)).toMatchObject({ hasAudio: false, video: { frameRate: 10 } })
  })

  test('keeps to the maximum size', async () => {
    const { bytes } = await transcode('source', { kind: 'video', maxBytes: 130_000, crf: 10 })
    expect(bytes).toBeLessThanOrEqual(130_000)
    await expect(transcode('source', { kind: 'video', maxBytes: 10_000 })).rejects.toMatchObject({ code: 'too_large' })
  })

  test('uses an earlier probe, unless it is of another file', async () => {
    const spec = { kind: 'video', crf: 40, loudness: null, trim: { to: 1 } } as const
    const probed = { ...(await work.probe(path('source'))), audio: null }
    const { seconds, output } = await transcode('source', spec, { probed })
    expect(seconds).toBe(durationOf(output))
    expect(await work.probe(output)).toMatchObject({ hasAudio: false })
    const { output: other } = await transcode('source', spec, { probed: { ...probed, bytes: probed.bytes + 1 } })
    expect(await work.probe(other)).toMatchObject({ hasAudio: true })
  })

  test('fails if the trimmed part has no video', async () => {
    const picture = ['-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=1', '-f', 'lavfi', '-i', 'anullsrc=duration=4']
    await runFfmpeg(...picture, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-f', 'mp4', path('longer-sound'))
    const attempt = transcode('longer-sound', { kind: 'video', trim: { from: 3 } })
    await expect(attempt).rejects.toMatchObject({ code: 'damaged' })
  })

  test('leaves silence unchanged', async () => {
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=duration=1', '-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=1']
    await runFfmpeg(...silence, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-f', 'mp4', path('silent'))
    expect(await transcode('silent', { kind: 'video' })).toMatchObject({ loudness: null, width: 64 })
  })

  test('refuses a duration outside of the preset, and a trim after the end', async () => {
    const short = { kind: 'video', preset: 'tiktok', trim: { to: 2 } } as const
    await expect(transcode('source', short)).rejects.toMatchObject({ code: 'invalid_settings' })
    const late = { kind: 'video', trim: { from: 60 } } as const
    await expect(transcode('source', late)).rejects.toMatchObject({ code: 'invalid_settings' })
  })

  test('makes a video of a GIF, with white instead of transparency', async () => {
    const clear =
      'color=red@0:s=65x45:r=10:d=1,format=rgba,split[a][b];[a]palettegen=reserve_transparent=1[p];[b][p]paletteuse'
    await runFfmpeg('-f', 'lavfi', '-i', 'testsrc=size=65x45:rate=10:duration=1', '-f', 'gif', path('gif'))
    await runFfmpeg('-f', 'lavfi', '-i', clear, '-f', 'gif', path('clear'))
    const { output, ...result } = await transcode('gif', { kind: 'video' })
    expect(result).toMatchObject({ width: 64, height: 44, loudness: null, mime: 'video/mp4' })
    expect(await work.probe(output)).toMatchObject({
      video: { codec: 'h264', pixelFormat: 'yuv420p' },
      hasAudio: false,
    })
    const { output: white } = await transcode('clear', { kind: 'video' })
    await runFfmpeg('-i', white, '-frames:v', '1', '-f', 'image2', '-c:v', 'png', path('white.png'))
    const { channels } = await sharp(path('white.png')).stats()
    expect(Math.min(...channels.map(({ mean }) => mean))).toBeGreaterThan(240)
  })
})

describe('audio', () => {
  test.each([
    ['m4a', 'audio/mp4', 'aac'],
    ['mp3', 'audio/mpeg', 'mp3'],
  ] as const)('makes %s', async (format, mime, codec) => {
    const { output, ...result } = await transcode('source', { kind: 'audio', format, loudness: -16 })
    expect(result).toMatchObject({ mime, width: null, loudness: { target: -16 } })
    expect(await work.probe(output)).toMatchObject({ kind: 'audio', video: null, audio: { codec } })
    expect(Math.abs(loudnessOf(output) + 16)).toBeLessThan(1)
  })
})

describe('images', () => {
  beforeAll(async () => {
    const create = { width: 900, height: 300, channels: 3, background: '#f00' } as const
    const noise = { ...create, noise: { type: 'gaussian', mean: 128, sigma: 60 } } as const
    await sharp({ create })
      .withExif({ IFD0: { Artist: 'private' } })
      .webp()
      .toFile(path('webp'))
    await sharp({ create: noise }).png().toFile(path('noise'))
    await makeHeic(path('heic'), 'color=0x00ff00:s=300x200', { width: 300, height: 200, quarterTurns: 1 })
    writeFileSync(path('pdf'), makePdf(1))
  })

  test.each([
    ['webp', {}, 900, 300],
    ['heic', {}, 200, 300],
    ['webp', { preset: 'instagram' }, 573, 300],
    ['webp', { preset: 'instagram', fit: 'pad' }, 900, 471],
    ['webp', { aspect: '9:16', maxHeight: 100 }, 56, 100],
    ['pdf', { maxHeight: 800 }, 600, 800],
  ] as const)('converts %s to JPEG with %o', async (name, settings, width, height) => {
    const { output, ...result } = await transcode(name, { kind: 'image', ...settings })
    expect(result).toMatchObject({ mime: 'image/jpeg', width, height })
    const { format, exif, icc } = await sharp(output).metadata()
    expect({ format, exif, icc }).toEqual({ format: 'jpeg', exif: undefined, icc: undefined })
  })

  test('keeps to the maximum size by lower quality, then by fewer pixels', async () => {
    const { bytes, width } = await transcode('noise', { kind: 'image', maxBytes: 15_000 })
    expect(bytes).toBeLessThanOrEqual(15_000)
    expect(width).toBeLessThan(900)
  })

  test('makes PNG and WebP', async () => {
    expect(await transcode('webp', { kind: 'image', format: 'png' })).toMatchObject({ mime: 'image/png' })
    expect(await transcode('noise', { kind: 'image', format: 'webp', quality: 10 })).toMatchObject({
      mime: 'image/webp',
    })
  })

  test('refuses to make an image from a video, or a video from an image', async () => {
    await expect(transcode('source', { kind: 'image' })).rejects.toMatchObject({ code: 'unsupported' })
    await expect(transcode('webp', { kind: 'video' })).rejects.toMatchObject({ code: 'unsupported' })
  })
})

test('makes an HLS preview that plays', async () => {
  const output = path('preview')
  mkdirSync(output)
  const { playlist, media, ...result } = await work.preview(path('source'), output)
  expect(result).toMatchObject({ width: 480, height: 270, mediaBytes: statSync(media).size })
  expect(readdirSync(output).sort()).toEqual([basename(playlist), basename(media)])
  expect(readFileSync(playlist, 'utf8')).toMatch(
    /#EXT-X-PLAYLIST-TYPE:VOD[^]*#EXT-X-BYTERANGE:\d+@0\nmedia\.ts\n[^]*#EXT-X-ENDLIST/,
  )
  const format = execFileSync('ffprobe', ['-v', 'error', '-show_format', '-of', 'json', playlist])
  expect(Number((JSON.parse(String(format)) as { format: { duration: string } }).format.duration)).toBeCloseTo(4, 0)
})

test.each([
  { kind: 'gif' },
  { kind: 'video', preset: 'myspace' },
  { kind: 'video', aspect: '16:9,drawtext=x' },
  { kind: 'video', crf: 0 },
  { kind: 'video', crf: '21' },
  { kind: 'video', maxWidth: Number.NaN },
  { kind: 'video', fps: 1e9 },
  { kind: 'video', trim: { from: 3, to: 2 } },
  { kind: 'video', trim: { from: '0 -i /etc/passwd' } },
  { kind: 'video', trim: null },
  { kind: 'video', loudness: 0 },
  { kind: 'video', quality: 50 },
  { kind: 'video', args: ['-i', '/etc/passwd'] },
  { kind: 'image', format: 'svg' },
  { kind: 'audio', format: 'm4a', preset: 'x' },
])('refuses settings out of bounds: %o', async (spec) => {
  const attempt = work.transcode(path('source'), path('never'), spec as unknown as TranscodeSpec)
  await expect(attempt).rejects.toMatchObject({ code: 'invalid_settings', retryable: false })
})

test('leaves no temporary files', () => {
  expect(filesIn(folder).filter((name) => name.includes('.part') || name === 'never')).toEqual([])
  expect(filesIn(tempDir)).toEqual([])
})
