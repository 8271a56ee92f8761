import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { newKey, startIngest, type IngestFixture } from '../testing/ingest-fixture.ts'
import { DEFAULT_DOCTOR_LIMITS } from './stream-doctor.ts'

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=20']
const TONE = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p']
const ONE_PICTURE_IN_FOUR_TWICE = 'select=not(mod(n\\,4))+not(mod(n\\,7))'

let folder: string
let fixture: IngestFixture
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-doctor-'))
  const doctor = { ...DEFAULT_DOCTOR_LIMITS, raiseMs: 200, missingTrackMs: 1_000 }
  fixture = await startIngest({ doctor })
})
afterAll(async () => {
  await fixture.ingest.close()
  await rm(folder, { recursive: true })
})

/** Encodes a clip with the given ffmpeg arguments and publishes it at five times real time. */
async function publish(name: string, ...args: string[]): Promise<void> {
  const file = join(folder, `${name}.flv`)
  await runFfmpeg(...PICTURE, ...args, '-t', '14', '-f', 'flv', file)
  const url = `rtmp://127.0.0.1:${fixture.port}/live/${newKey(`publisher${name}`)}`
  await runFfmpeg('-readrate', '5', '-i', file, '-c', 'copy', '-f', 'flv', '-flvflags', 'no_duration_filesize', url)
}

test('faults in streams of ffmpeg are reported; a healthy stream has no warnings', async () => {
  const publishing = Promise.all([
    publish('sparse', ...H264, '-g', '120', '-keyint_min', '120', '-sc_threshold', '0', '-an'),
    publish('uneven', ...TONE, '-vf', ONE_PICTURE_IN_FOUR_TWICE, '-vsync', 'vfr', ...H264, '-g', '10', '-c:a', 'aac'),
    publish(
      'studio',
      ...TONE,
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-pix_fmt',
      'yuv444p',
      '-g',
      '40',
      '-c:a',
      'aac',
      '-ac',
      '6',
    ),
    publish(
      'tenbit',
      ...TONE,
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-pix_fmt',
      'yuv420p10le',
      '-g',
      '40',
      '-c:a',
      'aac',
    ),
    publish('healthy', ...TONE, ...H264, '-g', '40', '-c:a', 'aac'),
  ])
  // Reported when it is awaited.
  publishing.catch(() => undefined)
  const found = new Map<string, Set<string>>()
  const collect = (): void => {
    for (const { publisher } of fixture.sessions) {
      publisher.examine([])
      const codes = found.get(publisher.path) ?? new Set()
      for (const { code } of publisher.stats().warnings) codes.add(code)
      found.set(publisher.path, codes)
    }
  }
  // Media at five times real time causes a clock_drift warning after a while. On a busy machine, packets of the video can
  // stay away for the second after which a track counts as missing.
  const ignored = ['clock_drift', 'video_missing']
  const codes = (name: string): string[] =>
    [...(found.get(`publisher${name}`) ?? [])].filter((code) => !ignored.includes(code)).toSorted()
  await waitFor(
    () => {
      collect()
      return codes('sparse').length >= 2 && codes('uneven').length >= 1 && codes('studio').length >= 2
    },
    { what: 'the warnings' },
  )
  expect(codes('sparse')).toEqual(['audio_missing', 'keyframe_interval'])
  expect(codes('uneven')).toEqual(['frame_rate_varies'])
  await publishing
  collect()
  expect(codes('studio')).toEqual(['audio_channels', 'pixel_format'])
  expect(codes('tenbit')).toEqual(['pixel_format'])
  expect(codes('healthy')).toEqual([])
})
