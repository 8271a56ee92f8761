import { spawn, type ChildProcess } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { brightnessOf, flvOf } from '../testing/brightness.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { makeFlv, useFfmpeg } from '../testing/ffmpeg.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { aacFrame, aacHeader, avcFrame, avcHeader, enhancedVideo } from '../testing/media-payloads.ts'
import { hashOf, startScene, towards, type Scene } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkConnection } from '../testing/sink.ts'

let ffmpeg: { path: string; version: string }
let folder: string
let scene: Scene
let sinks: Sink[] = []
let feeds: Feed[] = []
beforeAll(async () => {
  ffmpeg = await useFfmpeg()
  folder = await mkdtemp(join(tmpdir(), 'crier-slate-'))
})
afterEach(async () => {
  for (const feed of feeds.splice(0)) feed.stop().publisher.close()
  await scene.close()
  for (const sink of sinks.splice(0)) await sink.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function sink(keepPayloads = false): Promise<Sink> {
  const one = await startSink({ keepPayloads })
  sinks.push(one)
  return one
}

async function set(one: Sink, holdMs = 60_000): Promise<void> {
  scene = await startScene([one], {}, { whip: { host: '127.0.0.1', port: 0, ffmpeg } })
  scene.change({ slate: {}, holdMs })
}

/** ffmpeg, which plays the clip until it is killed. */
function publishClip(): ChildProcess {
  const input = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', join(folder, 'clip.flv'), '-c', 'copy']
  const url = `rtmp://127.0.0.1:${scene.port}/live/${scene.key}`
  return spawn(ffmpeg.path, [...input, '-f', 'flv', '-flvflags', 'no_duration_filesize', url], { stdio: 'ignore' })
}

async function publish(options: FeedOptions = {}, key = scene.key): Promise<Feed> {
  const feed = new Feed(await scene.publish(key), { videoBytes: 2_000, ...options }).start()
  feeds.push(feed)
  return feed
}

const BACKUP = newKey('pathofthebackup')
/** The slate is shown after 0.7 s here. The rest is for a busy machine. */
const LONGEST_GAP_MS = 4_000
const status = () => scene.node.status().streams[0]!
const slate = () => status().slate?.state
const told = () => scene.events.flatMap((event) => (event.type === 'slate.changed' ? [event.shown] : []))
const connection = (at = 0): SinkConnection => sinks[at]!.last()!
const headersOf = (one: SinkConnection) => one.of('video').filter(({ isHeader }) => isHeader)

/** What a player must be able to rely on, over all that one connection has carried. @returns the longest gap of video */
function expectUnbroken(one: SinkConnection): number {
  for (const kind of ['audio', 'video'] as const) {
    const times = one.of(kind).map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted((left, right) => left - right))
  }
  const frames = one.of('video').filter(({ isHeader }) => !isHeader)
  return Math.max(...frames.slice(1).map(({ at }, index) => at - frames[index]!.at))
}

/** What one connection has carried, decoded; `p` for the publisher's pictures, `s` for the slate's. */
async function seen(one: SinkConnection, name: string): Promise<{ pictures: number[]; story: string }> {
  const file = join(folder, name)
  await writeFile(file, flvOf(one.messages))
  const pictures = await brightnessOf(file)
  const story = pictures.map((value) => (isCard(value) ? 's' : 'p')).join('')
  return { pictures, story: story.replaceAll(/(.)\1+/g, '$1') }
}

const isCard = (value: number) => value < 60

test('the card is seen between the pictures of a publisher that goes and comes back, encoded anew or not', async () => {
  const [plain, capped] = [await sink(true), await sink(true)]
  await makeFlv(join(folder, 'clip.flv'), 1.2)
  await set(plain)
  const [copy] = scene.stream.destinations
  scene.change({
    destinations: [copy!, { ...towards(capped, 'd1'), rendering: { maxBitrate: 400_000 } }],
    recording: { sessionId: 'session', prefix: join(folder, 'recorded'), splitMs: 600_000 },
  })
  const plays = (at: number, frames: number) => {
    const from = sinks[at]!.messages('video').length
    return waitFor(() => sinks[at]!.messages('video').length > from + frames, { timeoutMs: 20_000 })
  }
  const first = publishClip()
  await waitFor(() => slate() === 'ready', { timeoutMs: 20_000 })
  await plays(1, 10)
  first.kill('SIGKILL')
  await waitFor(() => slate() === 'shown')
  expect(status().ingest).toBeNull()
  await plays(0, 20)
  const second = publishClip()
  await waitFor(() => told().join() === 'true,false')
  await plays(0, 30)
  second.kill('SIGKILL')
  await waitFor(() => slate() === 'shown' && headersOf(connection()).length === 4)
  expect(sinks.map(({ connections }) => connections.length)).toEqual([1, 1])
  expect(expectUnbroken(connection())).toBeLessThan(LONGEST_GAP_MS)
  expectUnbroken(connection(1))
  // The configuration of the pictures went out again at each change; the sound's, which is the same, did not.
  expect(
    connection()
      .of('audio')
      .filter(({ isHeader }) => isHeader),
  ).toHaveLength(1)
  const [own, anew] = await Promise.all([plain, capped].map((one, at) => seen(one.last()!, `d${at}.flv`)))
  expect(own!.story).toMatch(/^psps?$/)
  expect(anew!.story).toMatch(/^psps?$/)
  const programme = own!.pictures.filter((value) => !isCard(value))
  const { recording: _recording, slate: _slate, ...rest } = scene.stream
  scene.stream = rest
  scene.change({})
  expect(status().slate).toBeNull()
  expect(told().at(-1)).toBe(false)
  const recorded = await waitFor(() => globSync(join(folder, 'recorded*.mp4'))[0])
  await waitFor(() => scene.events.some(({ type }) => type === 'recording.ended'))
  const pictures = await brightnessOf(recorded)
  expect(programme.length - pictures.length).toBeLessThan(5)
  expect(pictures.filter(isCard)).toEqual([])
})

test('it stands in for silence until the next keyframe, not where a second publisher does, and not longer than the hold', async () => {
  const [first, late] = [await sink(), await sink()]
  await set(first, 1_500)
  scene.change({ backup: { path: 'pathofthebackup', keyHash: hashOf(BACKUP) } })
  const feed = await publish()
  await waitFor(() => slate() === 'ready' && scene.destination('d0').state === 'live')
  feed.stop()
  await waitFor(() => slate() === 'shown')
  expect(status().ingest).not.toBeNull()
  scene.change({ destinations: [...scene.stream.destinations, towards(late, 'd1')] })
  await waitFor(() => scene.destination('d1').state === 'live')
  const configuration = headersOf(connection(1))[0]?.checksum
  expect(configuration).toBe(headersOf(connection())[1]?.checksum)
  expect(connection(1).of('video')[1]).toMatchObject({ isKeyframe: true })
  const stopped = feed.of('video').length
  feed.start()
  await waitFor(() => slate() === 'ready')
  await waitFor(() => feed.of('video').length > stopped + 30)
  const own = new Set(feed.of('video').map(({ checksum }) => checksum))
  await waitFor(() => own.has(connection().of('video').at(-1)!.checksum))
  for (const at of [0, 1]) expect(expectUnbroken(connection(at))).toBeLessThan(LONGEST_GAP_MS)
  const after = connection(1).of('video').slice(1)
  expect(after.find(({ checksum, isHeader }) => own.has(checksum) && !isHeader)?.isKeyframe).toBe(true)
  const second = await publish({}, BACKUP)
  await waitFor(() => status().standby !== null && second.of('video').length > 30)
  feed.stop().publisher.close()
  await waitFor(() => status().ingest?.source === 'backup')
  second.stop().publisher.close()
  await waitFor(() => slate() === 'shown')
  expect(told()).toEqual([true, false, true])
  await waitFor(() => connection(0).closed && connection(1).closed)
  for (const at of [0, 1]) expect(connection(at).commands.map(({ name }) => name)).toContain('FCUnpublish')
  expect(scene.destination('d0').state).toBe('idle')
  expect(told()).toEqual([true, false, true, false])
  expect(sinks.map(({ connections }) => connections.length)).toEqual([1, 1])
})

test('a publisher that comes back at once and has no picture yet is waited for behind the slate', async () => {
  await set(await sink())
  const feed = await publish()
  await waitFor(() => slate() === 'ready' && scene.destination('d0').state === 'live')
  feed.stop().publisher.close()
  await waitFor(() => status().ingest === null)
  const again = await scene.publish()
  again.video(0, avcHeader())
  again.audio(0, aacHeader())
  let time = 0
  // Audio alone does not replace the slate, even without gaps.
  await waitFor(() => {
    again.audio((time += 20), aacFrame(40))
    return slate() === 'shown'
  })
  await waitFor(() => {
    again.audio((time += 20), aacFrame(40))
    again.video(time, avcFrame(time % 400 === 0))
    return slate() === 'ready'
  })
  expectUnbroken(connection())
  again.close()
})

test('a pause of the media process is not taken for silence', async () => {
  await makeFlv(join(folder, 'clip.flv'), 1.2)
  await set(await sink())
  const publisher = publishClip()
  const frames = () => sinks[0]!.messages('video').length
  await waitFor(() => slate() === 'ready' && frames() > 10, { timeoutMs: 20_000 })
  // In a phase of the event loop that timers follow.
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
      resolve()
    })
  })
  const before = frames()
  await waitFor(() => frames() > before + 50)
  expect(told()).toEqual([])
  publisher.kill('SIGKILL')
  await waitFor(() => slate() === 'shown')
})

test('what no slate can stand in for is held in silence, and the status says why', async () => {
  await set(await sink())
  const publisher = await scene.publish()
  const hevc = (type: number, isKeyframe: boolean) => enhancedVideo('hvc1', type, isKeyframe)
  publisher.video(0, hevc(0, true))
  let time = 0
  await waitFor(() => {
    publisher.video((time += 20), hevc(1, true))
    return slate() === 'unavailable'
  })
  expect(status().slate?.reason).toMatch(/H\.264 with AAC; what comes in is hevc/)
  publisher.close()
  await waitFor(() => status().ingest === null)
})
