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
import { hashOf, startNodeWithSinks, destinationTo, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkConnection } from '../testing/sink.ts'

let ffmpeg: { path: string; version: string }
let folder: string
let scene: NodeWithSinks
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

async function newSink(keepPayloads = false): Promise<Sink> {
  const sink = await startSink({ keepPayloads })
  sinks.push(sink)
  return sink
}

/** Starts a node with a live stream that has a slate and one destination. */
async function startWithSlate(sink: Sink, holdMs = 60_000): Promise<void> {
  scene = await startNodeWithSinks([sink], {}, { whip: { host: '127.0.0.1', port: 0, ffmpeg } })
  scene.change({ slate: {}, holdMs })
}

/** Starts an ffmpeg that publishes the clip in a loop until it is killed. */
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
/** Ten times as long as it takes here until the slate is shown. */
const MAX_GAP_MS = 20_000
const status = () => scene.node.status().streams[0]!
const slate = () => status().slate?.state
const shownEvents = () => scene.events.flatMap((event) => (event.type === 'slate.changed' ? [event.shown] : []))
const connection = (index = 0): SinkConnection => sinks[index]!.last()!
const videoHeaders = (sinkConnection: SinkConnection) =>
  sinkConnection.of('video').filter(({ isSequenceHeader }) => isSequenceHeader)

/** Expects that timestamps never go back on a connection. @returns the longest gap between video frames, in milliseconds */
function expectMonotonic(sinkConnection: SinkConnection): number {
  for (const kind of ['audio', 'video'] as const) {
    const times = sinkConnection.of(kind).map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted((left, right) => left - right))
  }
  const frames = sinkConnection.of('video').filter(({ isSequenceHeader }) => !isSequenceHeader)
  return Math.max(...frames.slice(1).map(({ at }, index) => at - frames[index]!.at))
}

/**
 * Decodes the video of a connection. `brightness` has a value per frame. `sequence` has a letter per run of frames: `p` for
 * the publisher, `s` for the slate.
 */
async function decode(
  sinkConnection: SinkConnection,
  name: string,
): Promise<{ brightness: number[]; sequence: string }> {
  const file = join(folder, name)
  await writeFile(file, flvOf(sinkConnection.messages))
  const brightness = await brightnessOf(file)
  const letters = brightness.map((value) => (isCard(value) ? 's' : 'p')).join('')
  return { brightness, sequence: letters.replaceAll(/(.)\1+/g, '$1') }
}

const isCard = (value: number) => value < 60

test('shows the card while the publisher is away, with and without transcoding', async () => {
  const [original, transcoded] = [await newSink(true), await newSink(true)]
  await makeFlv(join(folder, 'clip.flv'), 1.2)
  await startWithSlate(original)
  const [destination] = scene.stream.destinations
  scene.change({
    destinations: [destination!, { ...destinationTo(transcoded, 'd1'), rendering: { maxBitrate: 400_000 } }],
    recording: { sessionId: 'session', prefix: join(folder, 'recorded'), splitMs: 600_000 },
  })
  const waitForFrames = (index: number, frames: number) => {
    const before = sinks[index]!.messages('video').length
    return waitFor(() => sinks[index]!.messages('video').length > before + frames)
  }
  const first = publishClip()
  await waitFor(() => slate() === 'ready')
  await waitForFrames(1, 10)
  first.kill('SIGKILL')
  await waitFor(() => slate() === 'shown')
  expect(status().ingest).toBeNull()
  await waitForFrames(0, 20)
  const second = publishClip()
  await waitFor(() => shownEvents().join() === 'true,false')
  await waitForFrames(0, 30)
  second.kill('SIGKILL')
  await waitFor(() => slate() === 'shown' && videoHeaders(connection()).length === 4)
  expect(sinks.map(({ connections }) => connections.length)).toEqual([1, 1])
  expect(expectMonotonic(connection())).toBeLessThan(MAX_GAP_MS)
  expectMonotonic(connection(1))
  // The video configuration was sent again at each change. The audio configuration is the same, so it was sent once.
  expect(
    connection()
      .of('audio')
      .filter(({ isSequenceHeader }) => isSequenceHeader),
  ).toHaveLength(1)
  const [originalVideo, transcodedVideo] = await Promise.all(
    [original, transcoded].map((sink, index) => decode(sink.last()!, `d${index}.flv`)),
  )
  expect(originalVideo!.sequence).toMatch(/^psps?$/)
  expect(transcodedVideo!.sequence).toMatch(/^psps?$/)
  const published = originalVideo!.brightness.filter((value) => !isCard(value))
  const { recording: _recording, slate: _slate, ...rest } = scene.stream
  scene.stream = rest
  scene.change({})
  expect(status().slate).toBeNull()
  expect(shownEvents().at(-1)).toBe(false)
  const file = await waitFor(() => globSync(join(folder, 'recorded*.mp4'))[0])
  await waitFor(() => scene.events.some(({ type }) => type === 'recording.ended'))
  const recorded = await brightnessOf(file)
  expect(published.length - recorded.length).toBeLessThan(5)
  expect(recorded.filter(isCard)).toEqual([])
})

test('replaces a silent publisher until its next keyframe or the end of the hold, unless a standby takes over', async () => {
  const [first, late] = [await newSink(), await newSink()]
  await startWithSlate(first, 6_000)
  scene.change({ backup: { path: 'pathofthebackup', keyHash: hashOf(BACKUP) } })
  const feed = await publish()
  await waitFor(() => slate() === 'ready' && scene.destination('d0').state === 'live')
  feed.stop()
  await waitFor(() => slate() === 'shown')
  expect(status().ingest).not.toBeNull()
  scene.change({ destinations: [...scene.stream.destinations, destinationTo(late, 'd1')] })
  await waitFor(() => scene.destination('d1').state === 'live')
  const configuration = videoHeaders(connection(1))[0]?.checksum
  expect(configuration).toBe(videoHeaders(connection())[1]?.checksum)
  expect(connection(1).of('video')[1]).toMatchObject({ isKeyframe: true })
  const sentBefore = feed.of('video').length
  feed.start()
  await waitFor(() => slate() === 'ready')
  await waitFor(() => feed.of('video').length > sentBefore + 30)
  const published = new Set(feed.of('video').map(({ checksum }) => checksum))
  await waitFor(() => published.has(connection().of('video').at(-1)!.checksum))
  for (const index of [0, 1]) expect(expectMonotonic(connection(index))).toBeLessThan(MAX_GAP_MS)
  const frames = connection(1).of('video').slice(1)
  expect(
    frames.find(({ checksum, isSequenceHeader }) => published.has(checksum) && !isSequenceHeader)?.isKeyframe,
  ).toBe(true)
  const second = await publish({}, BACKUP)
  await waitFor(() => status().standby !== null && second.of('video').length > 30)
  feed.stop().publisher.close()
  await waitFor(() => status().ingest?.source === 'backup')
  second.stop().publisher.close()
  await waitFor(() => slate() === 'shown')
  expect(shownEvents()).toEqual([true, false, true])
  await waitFor(() => connection(0).closed && connection(1).closed)
  for (const index of [0, 1]) expect(connection(index).commands.map(({ name }) => name)).toContain('FCUnpublish')
  expect(scene.destination('d0').state).toBe('idle')
  expect(shownEvents()).toEqual([true, false, true, false])
  expect(sinks.map(({ connections }) => connections.length)).toEqual([1, 1])
})

test('is shown when the publisher reconnects at once, until it sends video', async () => {
  await startWithSlate(await newSink())
  const feed = await publish()
  await waitFor(() => slate() === 'ready' && scene.destination('d0').state === 'live')
  feed.stop().publisher.close()
  await waitFor(() => status().ingest === null)
  const again = await scene.publish()
  again.video(0, avcHeader())
  again.audio(0, aacHeader())
  let time = 0
  // A publisher that has announced video does not replace the slate with audio alone.
  await waitFor(() => {
    again.audio((time += 20), aacFrame(40))
    return slate() === 'shown'
  })
  await waitFor(() => {
    again.audio((time += 20), aacFrame(40))
    again.video(time, avcFrame(time % 400 === 0))
    return slate() === 'ready'
  })
  expectMonotonic(connection())
  again.close()
})

test('is not shown after the media process was blocked', async () => {
  await makeFlv(join(folder, 'clip.flv'), 1.2)
  await startWithSlate(await newSink())
  const publisher = publishClip()
  const frames = () => sinks[0]!.messages('video').length
  await waitFor(() => slate() === 'ready' && frames() > 10)
  // Blocks the process so that timers run next, before I/O.
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_000)
      resolve()
    })
  })
  const before = frames()
  await waitFor(() => frames() > before + 50)
  expect(shownEvents()).toEqual([])
  publisher.kill('SIGKILL')
  await waitFor(() => slate() === 'shown')
})

test('is unavailable for other codecs, with the reason in the status', async () => {
  await startWithSlate(await newSink())
  const publisher = await scene.publish()
  const hevc = (type: number, isKeyframe: boolean) => enhancedVideo('hvc1', type, isKeyframe)
  publisher.video(0, hevc(0, true))
  let time = 0
  await waitFor(() => {
    publisher.video((time += 20), hevc(1, true))
    return slate() === 'unavailable'
  })
  expect(status().slate?.reason).toMatch(/H\.264 with AAC .*The publisher sends hevc/)
  publisher.close()
  await waitFor(() => status().ingest === null)
})
