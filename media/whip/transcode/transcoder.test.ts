import type { ChildProcess, spawn } from 'node:child_process'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { waitFor } from '../../../test/support/wait.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { makeWhipMedia, type WhipMedia } from '../../testing/whip-media.ts'
import { AUDIO } from '../../rtmp/flv.ts'
import { audioArguments } from './ffmpeg-args.ts'
import { Transcoder } from './transcoder.ts'

const started: ChildProcess[] = []
vi.mock('node:child_process', async (original) => {
  const real = await original<{ spawn: typeof spawn }>()
  const spawnAndRecord = (...args: Parameters<typeof spawn>): ChildProcess => {
    const child = real.spawn(...args)
    started.push(child)
    return child
  }
  return { ...real, spawn: spawnAndRecord }
})

/** AACPacketType of a raw frame (FLV 10.1, E.4.2.1). */
const RAW_FRAME = 1
let ffmpeg: string
let media: WhipMedia
let transcoder: Transcoder | undefined
let times: number[] = []
let failures: string[] = []

beforeAll(async () => {
  ffmpeg = (await useFfmpeg()).path
  media = await makeWhipMedia()
  // Removes the processes that made the test media.
  started.splice(0)
})
afterEach(() => {
  transcoder?.kill()
  started.splice(0)
  times = []
  failures = []
})

function start(path: string, args: readonly string[]): Transcoder {
  const ignore = (): void => {}
  transcoder = new Transcoder({
    path,
    args,
    track: () => ({ codec: 'opus' }),
    onTag: ({ body, timestamp, type }) => type === AUDIO && body[1] === RAW_FRAME && times.push(timestamp),
    onFailure: (reason) => failures.push(reason),
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    sessionId: 'session',
  })
  return transcoder
}

test('replaces an ffmpeg that hangs, on the same timeline', async () => {
  const encoder = start(ffmpeg, audioArguments())
  const startedAt = performance.now()
  let sent = 0
  /** Writes the packets that are due. */
  const send = (): void => {
    for (; sent * 20 <= performance.now() - startedAt; sent += 1)
      encoder.write(sent * 20, true, media.audio[sent % media.audio.length]!)
  }
  await waitFor(() => (send(), times.length > 20))
  started[0]!.kill('SIGSTOP')
  const from = sent
  await waitFor(() => (send(), started.length === 2))
  expect((sent - from) * 20).toBeGreaterThan(2_000)
  const before = times.length
  await waitFor(() => (send(), times.length > before + 50))
  expect(failures).toEqual([])
  expect(started.map(({ killed }) => killed)).toEqual([true, false])
  // The new process continues with current audio. Audio that the first process did not output is lost.
  expect(times[before]! - times[before - 1]!).toBeGreaterThan(2_000)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

test('restarts an ffmpeg that ends with the next frame, and gives up after five failures', async () => {
  const encoder = start('/bin/false', [])
  await waitFor(() => {
    encoder.write(0, true, Buffer.alloc(40))
    return failures.length > 0
  })
  expect(failures).toEqual(['ffmpeg ended (code 1)'])
  expect(started).toHaveLength(5)
  encoder.write(0, true, Buffer.alloc(40))
  expect(started).toHaveLength(5)
})

test('starts ffmpeg only with a keyframe', async () => {
  const encoder = start('/bin/false', [])
  encoder.write(0, false, Buffer.alloc(40))
  expect(started).toHaveLength(0)
  encoder.write(33, true, Buffer.alloc(40))
  expect(started).toHaveLength(1)
})
