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

const PATIENT = { timeoutMs: 60_000 }
const TOKEN = hashOf('the token')
/** Seconds after which a pause is an outage, and is cut out. */
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

/** Starts a node that records. @param gaps as the stream sets it; the default when absent */
async function record(name: string, gaps?: DesiredRecording['gaps']): Promise<void> {
  fixture = await startNode([], { holdMs: 60_000 }, { whip: { host: '127.0.0.1', port: 0, ffmpeg } })
  const recording = { sessionId: name, prefix: join(folder, name), splitMs: 60_000, ...(gaps && { gaps }) }
  fixture.change({ whipHash: TOKEN, recording })
}

const files = () => fixture.events.flatMap((event) => (event.type === 'recording.started' ? [event.path] : []))
const recorded = () => fixture.node.status().streams[0]?.recording?.seconds ?? 0

/** Ends the recording and waits until its files are whole. */
async function stopRecording(): Promise<string[]> {
  const { recording: _recording, ...stream } = fixture.stream
  fixture.node.apply(stream)
  const ended = () => fixture.events.filter(({ type }) => type === 'recording.ended').length
  await waitFor(() => files().length > 0 && ended() === files().length, PATIENT)
  return files()
}

const longestStep = (times: readonly number[]) => Math.max(...times.slice(1).map((time, at) => time - times[at]!))

function send(publisher: TestPublisher, tags: readonly FlvTag[], offset = 0): void {
  for (const { payload, timestamp, type } of tags) publisher.send(type, timestamp + offset, payload)
}

/** Waits until the node has taken in so many bytes of media. */
const takenIn = (tags: readonly FlvTag[], times = 1) => {
  const sum = tags.reduce((bytes, { payload }) => bytes + payload.length, 0) * times
  return waitFor(() => (fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0) >= sum, PATIENT)
}

const mediaOf = (file: string) => readTags(readFileSync(file)).filter(({ type }) => type === 8 || type === 9)

test('a browser’s pictures, whose sound comes later, are recorded from the first one on, in one file', async () => {
  await record('whip')
  const client = new WhipClient({ media: await makeWhipMedia() })
  const asked = { path: fixture.stream.path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false }
  const reply = await fixture.node.whip({ type: 'offer', ...asked, sdp: await client.offer() })
  if (!reply.ok || reply.session === undefined) throw new Error('not taken')
  client.accept(reply.sdp)
  client.start()
  await waitFor(() => recorded() > 2, PATIENT)
  const made = await stopRecording()
  client.close()
  expect(made).toHaveLength(1)
  const { audio, codecs, video } = await probeTimes(made[0]!)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(video[0]).toBeLessThan(0.1)
  expect(audio.length).toBeGreaterThan(30)
})

test.each([undefined, 'slate'] as const)(
  'an outage without a slate is cut out of picture and sound (gaps: %s)',
  async (gaps) => {
    await record(`outage-${gaps}`, gaps)
    const publisher = await fixture.publish()
    const tags = mediaOf(clip)
    // Five seconds pass on the publisher's clock.
    send(publisher, tags)
    send(publisher, tags, 8_000)
    await takenIn(tags, 2)
    const made = await stopRecording()
    publisher.close()
    expect(made).toHaveLength(1)
    const { audio, video } = await probeTimes(made[0]!)
    expect(video).toHaveLength(180)
    // Every picture before the outage is shown before those after it, although pictures were reordered.
    expect(new Set(video).size).toBe(180)
    expect(longestStep(video)).toBeLessThan(0.3)
    expect(longestStep(audio)).toBeLessThan(0.3)
    // Players that ignore timestamps stay in step.
    expect(Math.abs(video.at(-1)! - audio.at(-1)!)).toBeLessThan(0.3)
    expect(await brightnessOf(made[0]!)).toHaveLength(180)
  },
)

test('with gaps: slate, the slate that viewers saw is recorded with silence, in the same file', async () => {
  await record('slate', 'slate')
  fixture.change({ slate: {} })
  const url = `rtmp://127.0.0.1:${fixture.port}/live/${fixture.key}`
  const input = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', clip, '-c', 'copy', '-f', 'flv', url]
  const publish = () => spawn(ffmpeg.path, input, { stdio: 'ignore' })
  const first = publish()
  await waitFor(() => fixture.node.status().streams[0]?.slate?.state === 'ready', PATIENT)
  await waitFor(() => recorded() > 1, PATIENT)
  first.kill('SIGKILL')
  const isShown = () => fixture.node.status().streams[0]?.slate?.state === 'shown'
  await waitFor(isShown, PATIENT)
  // More than one group of the slate's pictures.
  const before = recorded()
  await waitFor(() => recorded() > before + 3, PATIENT)
  const second = publish()
  await waitFor(() => !isShown(), PATIENT)
  const atReturn = recorded()
  await waitFor(() => recorded() > atReturn + 1, PATIENT)
  const made = await stopRecording()
  second.kill('SIGKILL')
  expect(made).toHaveLength(1)
  const file = made[0]!
  const story = (await brightnessOf(file)).map((value) => (value < 60 ? 's' : 'p')).join('')
  expect(story.replaceAll(/(.)\1+/g, '$1')).toBe('psp')
  expect(/s+/.exec(story)![0].length).toBeGreaterThan(75)
  const { audio, codecs, video } = await probeTimes(file)
  expect(codecs).toEqual(['h264', 'aac'])
  // Nothing is missing for longer than what counts as an outage, and the sound goes on below the slate.
  expect(longestStep(video)).toBeLessThan(OUTAGE + 0.2)
  expect(longestStep(audio)).toBeLessThan(OUTAGE + 0.2)
  expect(Math.abs(video.at(-1)! - audio.at(-1)!)).toBeLessThan(0.3)
  // A reader that starts in the middle finds the decoder configuration there.
  for (const from of [video.at(-1)! - 1, /s/.exec(story)!.index / 30 + 2.5])
    await runFfmpeg('-xerror', '-err_detect', 'explode', '-ss', String(from), '-i', file, '-f', 'null', '-')
})

test('by default the slate is left out', async () => {
  await record('unslated')
  fixture.change({ slate: {} })
  const publisher = await fixture.publish()
  const tags = mediaOf(clip)
  send(publisher, tags)
  await takenIn(tags)
  await waitFor(() => fixture.node.status().streams[0]?.slate?.state === 'shown', PATIENT)
  const [file = ''] = await stopRecording()
  publisher.close()
  expect((await brightnessOf(file)).filter((value) => value < 60)).toEqual([])
})

test('sound without pictures is recorded as a file of sound, from its first frame on', async () => {
  await record('sound')
  const tags = mediaOf(clip).filter(({ type }) => type !== VIDEO)
  const publisher = await fixture.publish()
  send(publisher, tags)
  send(publisher, tags.slice(1), 3_030)
  await takenIn(tags)
  await waitFor(() => recorded() > 5, PATIENT)
  expect(fixture.node.status().streams[0]?.recording?.refused).toBeNull()
  const made = await stopRecording()
  publisher.close()
  expect(made).toHaveLength(1)
  const { audio, codecs } = await probeTimes(made[0]!)
  expect(codecs).toEqual(['aac'])
  expect(audio).toHaveLength((tags.length - 1) * 2)
  // Programs tell by this brand that there is no picture to expect.
  expect(readFileSync(made[0]!).toString('latin1', 4, 12)).toBe('ftypM4A ')
  await runFfmpeg('-xerror', '-i', made[0]!, '-f', 'null', '-')
})

test('pictures that come after sound begin the recording, which has no file of the sound alone', async () => {
  await record('late-pictures')
  const publisher = await fixture.publish()
  const tags = mediaOf(clip)
  send(
    publisher,
    tags.filter(({ timestamp, type }) => type !== VIDEO && timestamp < 1_000),
  )
  send(publisher, tags, 1_000)
  await waitFor(() => recorded() > 2, PATIENT)
  const made = await stopRecording()
  publisher.close()
  expect(made).toHaveLength(1)
  expect((await probeTimes(made[0]!)).codecs).toEqual(['h264', 'aac'])
})
