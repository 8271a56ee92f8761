import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { brightnessOf } from '../testing/brightness.ts'
import { makeClip, runFfmpeg, useFfmpeg } from '../testing/ffmpeg.ts'
import { probeTimes } from '../testing/ffprobe.ts'
import { readTags, type FlvTag } from '../testing/flv-file.ts'
import { hashOf, startNode, type NodeFixture } from '../testing/node-fixture.ts'
import type { TestPublisher } from '../testing/publisher.ts'
import { WhipClient } from '../testing/whip-client.ts'
import { makeWhipMedia } from '../testing/whip-media.ts'
import type { DesiredRecording } from '../types.ts'
import { VIDEO } from '../rtmp/flv.ts'

const TOKEN = hashOf('the token')
/** Seconds without media that count as an outage, which is cut out. */
const OUTAGE = 1
let folder: string
let ffmpeg: { path: string; version: string }
let clip: string
let fixture: NodeFixture

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-gaps-'))
  ffmpeg = await useFfmpeg()
  clip = join(folder, 'clip.flv')
  await makeClip(clip, { seconds: 3, bFrames: 2 })
})
afterEach(() => fixture.node.close())
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Starts a node that records. @param gaps setting of the stream; the default when absent */
async function record(name: string, gaps?: DesiredRecording['gaps']): Promise<void> {
  fixture = await startNode([], { holdMs: 60_000 }, { whip: { host: '127.0.0.1', port: 0, ffmpeg } })
  const recording = { sessionId: name, prefix: join(folder, name), splitMs: 60_000, ...(gaps && { gaps }) }
  fixture.change({ whipHash: TOKEN, recording })
}

const files = () => fixture.events.flatMap((event) => (event.type === 'recording.started' ? [event.path] : []))
const recorded = () => fixture.node.status().streams[0]?.recording?.seconds ?? 0

/** Ends the recording. Returns its files when they are complete. */
async function stopRecording(): Promise<string[]> {
  const { recording: _recording, ...stream } = fixture.stream
  fixture.node.apply(stream)
  const ended = () => fixture.events.filter(({ type }) => type === 'recording.ended').length
  await waitFor(() => files().length > 0 && ended() === files().length)
  return files()
}

const longestStep = (times: readonly number[]) => Math.max(...times.slice(1).map((time, at) => time - times[at]!))

function send(publisher: TestPublisher, tags: readonly FlvTag[], offset = 0): void {
  for (const { payload, timestamp, type } of tags) publisher.send(type, timestamp + offset, payload)
}

/** Waits until the node has received the tags. */
const receivedBy = (tags: readonly FlvTag[], times = 1) => {
  const sum = tags.reduce((bytes, { payload }) => bytes + payload.length, 0) * times
  return waitFor(() => (fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0) >= sum)
}

const mediaOf = (file: string) => readTags(readFileSync(file)).filter(({ type }) => type === 8 || type === 9)

test('WHIP video is recorded in one file from the first frame on, although its audio starts later', async () => {
  await record('whip')
  const client = new WhipClient({ media: await makeWhipMedia() })
  const asked = { path: fixture.stream.path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false }
  const reply = await fixture.node.whip({ type: 'offer', ...asked, sdp: await client.offer() })
  if (!reply.ok || reply.session === undefined) throw new Error('the offer was refused')
  client.accept(reply.sdp)
  client.start()
  await waitFor(() => recorded() > 2)
  const made = await stopRecording()
  client.close()
  expect(made).toHaveLength(1)
  const { audio, codecs, video } = await probeTimes(made[0]!)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(video[0]).toBeLessThan(0.1)
  expect(audio.length).toBeGreaterThan(30)
})

test.each([undefined, 'slate'] as const)(
  'an outage without a slate is cut out of video and audio (gaps: %s)',
  async (gaps) => {
    await record(`outage-${gaps}`, gaps)
    const publisher = await fixture.publish()
    const tags = mediaOf(clip)
    // The publisher's timestamps jump by five seconds.
    send(publisher, tags)
    send(publisher, tags, 8_000)
    await receivedBy(tags, 2)
    const made = await stopRecording()
    publisher.close()
    expect(made).toHaveLength(1)
    const { audio, video } = await probeTimes(made[0]!)
    expect(video).toHaveLength(180)
    // Frames before the outage are presented before those after it, although there are B-frames.
    expect(new Set(video).size).toBe(180)
    expect(longestStep(video)).toBeLessThan(0.3)
    expect(longestStep(audio)).toBeLessThan(0.3)
    // Players that ignore timestamps stay in sync.
    expect(Math.abs(video.at(-1)! - audio.at(-1)!)).toBeLessThan(0.3)
    expect(await brightnessOf(made[0]!)).toHaveLength(180)
  },
)

test('with gaps: slate, the slate is recorded with silence in the same file', async () => {
  await record('slate', 'slate')
  fixture.change({ slate: {} })
  const url = `rtmp://127.0.0.1:${fixture.port}/live/${fixture.key}`
  const input = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', clip, '-c', 'copy', '-f', 'flv', url]
  const publish = () => spawn(ffmpeg.path, input, { stdio: 'ignore' })
  const first = publish()
  await waitFor(() => fixture.node.status().streams[0]?.slate?.state === 'ready')
  await waitFor(() => recorded() > 1)
  first.kill('SIGKILL')
  const isShown = () => fixture.node.status().streams[0]?.slate?.state === 'shown'
  await waitFor(isShown)
  // Longer than one GOP of the slate.
  const before = recorded()
  await waitFor(() => recorded() > before + 3)
  const second = publish()
  await waitFor(() => !isShown())
  const atReturn = recorded()
  await waitFor(() => recorded() > atReturn + 1)
  const made = await stopRecording()
  second.kill('SIGKILL')
  expect(made).toHaveLength(1)
  const file = made[0]!
  // s is a frame of the slate, p one of the publisher.
  const sequence = (await brightnessOf(file)).map((value) => (value < 60 ? 's' : 'p')).join('')
  expect(sequence.replaceAll(/(.)\1+/g, '$1')).toBe('psp')
  expect(/s+/.exec(sequence)![0].length).toBeGreaterThan(75)
  const { audio, codecs, video } = await probeTimes(file)
  expect(codecs).toEqual(['h264', 'aac'])
  // No gap is longer than an outage, and audio continues during the slate.
  expect(longestStep(video)).toBeLessThan(OUTAGE + 0.2)
  expect(longestStep(audio)).toBeLessThan(OUTAGE + 0.2)
  expect(Math.abs(video.at(-1)! - audio.at(-1)!)).toBeLessThan(0.3)
  // Decoding can start in the middle, because each keyframe has its parameter sets.
  for (const from of [video.at(-1)! - 1, /s/.exec(sequence)!.index / 30 + 2.5])
    await runFfmpeg('-xerror', '-err_detect', 'explode', '-ss', String(from), '-i', file, '-f', 'null', '-')
})

test('the slate is not recorded by default', async () => {
  await record('without-slate')
  fixture.change({ slate: {} })
  const publisher = await fixture.publish()
  const tags = mediaOf(clip)
  send(publisher, tags)
  await receivedBy(tags)
  await waitFor(() => fixture.node.status().streams[0]?.slate?.state === 'shown')
  const [file = ''] = await stopRecording()
  publisher.close()
  expect((await brightnessOf(file)).filter((value) => value < 60)).toEqual([])
})

test('audio without video is recorded as an audio file from its first frame on', async () => {
  await record('audio')
  const tags = mediaOf(clip).filter(({ type }) => type !== VIDEO)
  const publisher = await fixture.publish()
  send(publisher, tags)
  send(publisher, tags.slice(1), 3_030)
  await receivedBy(tags)
  await waitFor(() => recorded() > 5)
  expect(fixture.node.status().streams[0]?.recording?.refused).toBeNull()
  const made = await stopRecording()
  publisher.close()
  expect(made).toHaveLength(1)
  const { audio, codecs } = await probeTimes(made[0]!)
  expect(codecs).toEqual(['aac'])
  expect(audio).toHaveLength((tags.length - 1) * 2)
  // Programs recognize an audio file by this brand.
  expect(readFileSync(made[0]!).toString('latin1', 4, 12)).toBe('ftypM4A ')
  await runFfmpeg('-xerror', '-i', made[0]!, '-f', 'null', '-')
})

test('video that starts after audio starts the recording, without a separate audio file', async () => {
  await record('late-video')
  const publisher = await fixture.publish()
  const tags = mediaOf(clip)
  send(
    publisher,
    tags.filter(({ timestamp, type }) => type !== VIDEO && timestamp < 1_000),
  )
  send(publisher, tags, 1_000)
  await waitFor(() => recorded() > 2)
  const made = await stopRecording()
  publisher.close()
  expect(made).toHaveLength(1)
  expect((await probeTimes(made[0]!)).codecs).toEqual(['h264', 'aac'])
})
