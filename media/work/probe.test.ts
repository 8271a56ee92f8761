import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { useMediaWork } from '../testing/work-fixture.ts'

const { work, folder } = useMediaWork()
const withoutFfprobe = useMediaWork({ ffprobePath: undefined }).work
const without = useMediaWork({ ffmpegPath: undefined, ffprobePath: undefined }).work
const path = (name: string) => join(folder, name)

const VIDEO = ['-f', 'lavfi', '-i', 'testsrc=size=320x180:rate=30000/1001:duration=2']
const TONE = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=44100:duration=2']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']
const AAC = ['-c:a', 'aac', '-ac', '2', '-ar', '48000']

beforeAll(async () => {
  await runFfmpeg(...VIDEO, ...TONE, ...H264, ...AAC, '-f', 'mp4', path('mp4'))
  await runFfmpeg('-i', path('mp4'), '-c', 'copy', '-movflags', '+faststart', '-f', 'mp4', path('faststart'))
  await runFfmpeg('-i', path('mp4'), '-c', 'copy', '-f', 'matroska', path('mkv'))
  await runFfmpeg('-i', path('mp4'), '-vn', '-c:a', 'pcm_s16le', '-f', 'wav', path('wav'))
})

test('probes a video', async () => {
  const result = await work.probe(path('mp4'))
  expect(result).toMatchObject({
    kind: 'video',
    mime: 'video/mp4',
    bytes: readFileSync(path('mp4')).length,
    width: 320,
    height: 180,
    rotation: 0,
    video: { codec: 'h264', profile: 'Constrained Baseline', width: 320, height: 180, pixelFormat: 'yuv420p' },
    audio: { codec: 'aac', channels: 2, sampleRate: 48_000 },
    hasAudio: true,
    truncated: false,
  })
  expect(result.seconds).toBeCloseTo(2, 0)
  expect(result.video?.frameRate).toBeCloseTo(29.97, 2)
  expect(result.bitrate).toBeGreaterThan(10_000)
})

test('applies rotation and pixel aspect ratio', async () => {
  await runFfmpeg('-i', path('mp4'), '-vf', 'setsar=2/1', ...H264, '-an', '-f', 'mp4', path('wide'))
  await runFfmpeg('-i', path('wide'), '-c', 'copy', '-metadata:s:v', 'rotate=90', '-f', 'mp4', path('turned'))
  const expected = { width: 180, height: 640, hasAudio: false, audio: null }
  expect(await work.probe(path('turned'))).toMatchObject(expected)
  expect(await withoutFfprobe.probe(path('turned'))).toMatchObject(expected)
  const [one, other] = await Promise.all([work.probe(path('turned')), withoutFfprobe.probe(path('turned'))])
  expect([90, 270]).toContain(one.rotation)
  expect(other.rotation).toBe(one.rotation)
})

test.each(['wav', 'mkv', 'mp4'])('without ffprobe, probes %s from the output of ffmpeg', async (name) => {
  const [one, other] = await Promise.all([work.probe(path(name)), withoutFfprobe.probe(path(name))])
  const exact = ({ video, audio, seconds: _seconds, bitrate: _bitrate, ...rest }: typeof one) => ({
    ...rest,
    video: video === null ? null : { ...video, frameRate: Math.round(video.frameRate ?? 0), bitrate: 0 },
    audio: audio === null ? null : { ...audio, bitrate: 0 },
  })
  expect(exact(other)).toEqual(exact(one))
  expect(other.seconds).toBeCloseTo(one.seconds ?? 0, 1)
  expect((other.bitrate ?? 0) / (one.bitrate ?? 1)).toBeCloseTo(1, 1)
})

test('without ffmpeg, refuses video and audio and processes other files', async () => {
  await expect(without.probe(path('mp4'))).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  await runFfmpeg('-i', path('mp4'), '-frames:v', '1', '-f', 'mjpeg', path('jpeg'))
  expect(await without.probe(path('jpeg'))).toMatchObject({ kind: 'image', width: 320, height: 180 })
})

test('ignores the file name', async () => {
  copyFileSync(path('wav'), path('movie.mp4'))
  expect(await work.probe(path('movie.mp4'))).toMatchObject({ kind: 'audio', mime: 'audio/wav', width: null })
})

describe('truncated files', () => {
  test.each([
    ['faststart', 0.6],
    ['mkv', 0.4],
    ['wav', 0.5],
    ['jpeg', 0.5],
  ])('detects a truncated %s', async (name, part) => {
    const bytes = readFileSync(path(name))
    writeFileSync(path(`half-${name}`), bytes.subarray(0, bytes.length * part))
    expect(await work.probe(path(`half-${name}`))).toMatchObject({ truncated: true })
    expect(await work.probe(path(name))).toMatchObject({ truncated: false })
  })

  test('refuses an MP4 without its index at the end', async () => {
    const bytes = readFileSync(path('mp4'))
    writeFileSync(path('half-mp4'), bytes.subarray(0, bytes.length / 2))
    await expect(work.probe(path('half-mp4'))).rejects.toMatchObject({ code: 'truncated', retryable: false })
  })
})
