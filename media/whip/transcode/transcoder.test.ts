import type { ChildProcess, spawn } from 'node:child_process'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { waitFor } from '../../../test/support/wait.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { makeWhipMedia, type WhipMedia } from '../../testing/whip-media.ts'
import { AUDIO } from '../../rtmp/flv.ts'
import { soundArguments } from './ffmpeg-args.ts'
import { Transcoder } from './transcoder.ts'

const started: ChildProcess[] = []
vi.mock('node:child_process', async (original) => {
  const real = await original<{ spawn: typeof spawn }>()
  const noting = (...args: Parameters<typeof spawn>): ChildProcess => {
    const child = real.spawn(...args)
    started.push(child)
    return child
  }
  return { ...real, spawn: noting }
})

/** AACPacketType of a frame (FLV 10.1, E.4.2.1). */
const FRAME = 1
const PATIENT = { timeoutMs: 20_000 }
let ffmpeg: string
let media: WhipMedia
let transcoder: Transcoder | undefined
let times: number[] = []
let failures: string[] = []

beforeAll(async () => {
  ffmpeg = (await useFfmpeg()).path
  media = await makeWhipMedia()
  // Those that made the film.
  started.splice(0)
}, 60_000)
afterEach(() => {
  transcoder?.kill()
  started.splice(0)
  times = []
  failures = []
})

function start(path: string, args: readonly string[]): Transcoder {
  const line = (): void => {}
  transcoder = new Transcoder({
    path,
    args,
    track: () => ({ codec: 'opus' }),
    onTag: ({ body, timestamp, type }) => type === AUDIO && body[1] === FRAME && times.push(timestamp),
    onFailure: (reason) => failures.push(reason),
    log: { debug: line, info: line, warn: line, error: line },
    sessionId: 'session',
  })
  return transcoder
}

test('an ffmpeg that is stopped is replaced within a few seconds, on the same timeline', async () => {
  const encoder = start(ffmpeg, soundArguments())
  const begun = performance.now()
  let sent = 0
  /** Hands over what is due by now. */
  const send = (): void => {
    for (; sent * 20 <= performance.now() - begun; sent += 1)
      encoder.write(sent * 20, true, media.sounds[sent % media.sounds.length]!)
  }
  await waitFor(() => (send(), times.length > 20), PATIENT)
  started[0]!.kill('SIGSTOP')
  const from = sent
  await waitFor(() => (send(), started.length === 2), PATIENT)
  expect((sent - from) * 20).toBeGreaterThan(2_000)
  // A busy machine may hand frames over late.
  expect((sent - from) * 20).toBeLessThan(8_000)
  const heard = times.length
  await waitFor(() => (send(), times.length > heard + 50), PATIENT)
  expect(failures).toEqual([])
  expect(started.map(({ killed }) => killed)).toEqual([true, false])
  // It goes on with the sound of that moment; what the first one was handed and did not give out is left out.
  expect(times[heard]! - times[heard - 1]!).toBeGreaterThan(2_000)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

test('one that ends is started again with the next frame, and given up when it ends again and again', async () => {
  const encoder = start('/bin/false', [])
  await waitFor(() => {
    encoder.write(0, true, Buffer.alloc(40))
    return failures.length > 0
  }, PATIENT)
  expect(failures).toEqual(['ffmpeg ended (code 1)'])
  expect(started).toHaveLength(5)
  encoder.write(0, true, Buffer.alloc(40))
  expect(started).toHaveLength(5)
})

test('after a failure of the pictures the next keyframe is waited for', async () => {
  const encoder = start('/bin/false', [])
  encoder.write(0, false, Buffer.alloc(40))
  expect(started).toHaveLength(0)
  encoder.write(33, true, Buffer.alloc(40))
  expect(started).toHaveLength(1)
})
