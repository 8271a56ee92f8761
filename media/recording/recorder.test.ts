import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type * as Fs from 'node:fs/promises'
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { MovieReader } from '../playout/movie-reader.ts'
import { Feed } from '../testing/feed.ts'
import { makeClip, runFfmpeg } from '../testing/ffmpeg.ts'
import { digest, readTags } from '../testing/flv-file.ts'
import { startNode, type NodeFixture } from '../testing/node-fixture.ts'
import type { DesiredPlayout, DesiredRecording } from '../types.ts'
import { repairRecording } from './repair.ts'

/** Size at which writing a recording fails. */
let diskSize = Infinity

// Simulates a full disk: a partial write, then an error.
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof Fs>()
  const limited: typeof fs.open = async (...args) => {
    const handle = await fs.open(...args)
    const writev = handle.writev.bind(handle)
    const some = async (pieces: readonly Buffer[], position = 0) => {
      const left = diskSize - position
      if (left <= 0) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      const whole = Buffer.concat(pieces)
      return writev([whole.subarray(0, Math.min(left, whole.length))], position)
    }
    handle.writev = some as typeof handle.writev
    return handle
  }
  return { ...fs, open: limited }
})

let folder: string
let clip: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-recording-'))
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { seconds: 2, group: 15 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const open: NodeFixture[] = []
afterEach(async () => {
  for (const { node } of open.splice(0)) await node.close()
})

async function newNode(): Promise<NodeFixture> {
  const fixture = await startNode([])
  open.push(fixture)
  return fixture
}

let count = 0
function recordingOf(splitMs = 60_000): DesiredRecording {
  count += 1
  return { sessionId: `session-${count}`, prefix: join(folder, `session-${count}`), splitMs }
}

function playoutOf(path: string): DesiredPlayout {
  return { id: 'b1', items: [{ path }], loop: false, paused: false, item: 0, ms: 0, cue: 0 }
}

const ended = (fixture: NodeFixture, files = 1) =>
  waitFor(() => {
    const events = fixture.events.filter((event) => event.type === 'recording.ended')
    return events.length >= files ? events : undefined
  })

/** Stops a feed and waits until the node has received everything. */
function stopped(fixture: NodeFixture, feed: Feed): Promise<unknown> {
  feed.stop()
  return waitFor(() => (fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0) >= feed.bytes)
}

/** Checksums of the frames of a recording. */
async function framesOf(path: string): Promise<{ video: string[]; audio: string[] }> {
  const movie = await MovieReader.open(path)
  const found = { video: [] as string[], audio: [] as string[] }
  for (let frame = await movie.next(); frame; frame = await movie.next()) {
    found[frame.kind].push(digest(frame.kind, 0, frame.payload).checksum)
  }
  await movie.close()
  return found
}

/** Reads packet counts, duration and warnings of a file with ffprobe. */
async function probed(path: string): Promise<{ packets: number[]; seconds: number; warnings: string }> {
  const entries = ['-count_packets', '-show_entries', 'stream=nb_read_packets:format=duration', '-of', 'json']
  const { stderr, stdout } = await promisify(execFile)('ffprobe', ['-v', 'warning', ...entries, path])
  const { format, streams } = JSON.parse(stdout) as {
    format: { duration: string }
    streams: { nb_read_packets: string }[]
  }
  return {
    packets: streams.map((stream) => Number(stream.nb_read_packets)),
    seconds: Number(format.duration),
    warnings: stderr,
  }
}

test('a recording has every packet that was sent, and a truncated file is repaired', async () => {
  await runFfmpeg('-i', clip, '-c', 'copy', '-f', 'flv', `${clip}.flv`)
  const tags = readTags(readFileSync(`${clip}.flv`)).filter(({ payload, type }) => type !== 18 && payload[1] === 1)
  const wanted = (type: number) =>
    tags.filter((tag) => tag.type === type).map(({ payload }) => digest('video', 0, payload).checksum)
  const fixture = await newNode()
  fixture.change({ recording: recordingOf(), playout: playoutOf(clip) })
  await waitFor(() => fixture.events.some(({ type }) => type === 'playout.ended'))
  fixture.node.remove(fixture.stream.streamId)
  const [event] = await ended(fixture)
  expect(event?.failure).toBeNull()
  const path = event?.path ?? ''
  expect((await stat(path)).mode & 0o137, 'nothing for other users').toBe(0)
  const frames = await framesOf(path)
  expect(frames.video).toEqual(wanted(9))
  // Audio before the first video frame is not recorded.
  expect(wanted(8).slice(-frames.audio.length)).toEqual(frames.audio)
  expect(wanted(8).length - frames.audio.length).toBeLessThan(8)
  const seen = await probed(path)
  expect(seen).toMatchObject({ packets: [60, frames.audio.length], warnings: '' })
  expect(seen.seconds).toBeCloseTo(2, 0)
  await runFfmpeg('-xerror', '-i', path, '-f', 'null', '-')

  // A truncated file is repaired up to its last complete fragment.
  const { size } = await stat(path)
  await truncate(path, size - 500)
  const repaired = await repairRecording(path)
  expect(repaired?.bytes).toBeLessThan(size - 500)
  expect(repaired?.seconds).toBeGreaterThan(1)
  const rest = await probed(path)
  expect(rest.warnings).toBe('')
  expect(rest.seconds).toBeCloseTo(repaired?.seconds ?? 0, 1)
  await truncate(path, 100)
  expect(await repairRecording(path)).toBeUndefined()
})

test('the still frame and silence of a pause can be decoded', async () => {
  const fixture = await newNode()
  const playout = { ...playoutOf(clip), paused: true, ms: 1_000 }
  fixture.change({ recording: recordingOf(), playout })
  await waitFor(() => (fixture.node.status().streams[0]?.recording?.seconds ?? 0) > 1)
  fixture.node.remove(fixture.stream.streamId)
  const [event] = await ended(fixture)
  const args = ['-xerror', '-err_detect', 'explode', '-i', event?.path ?? '', '-af', 'volumedetect', '-f', 'null', '-']
  const { stderr } = await promisify(execFile)('ffmpeg', ['-hide_banner', ...args])
  expect(stderr).toMatch(/max_volume: -(91|inf)/)
})

test('splits at keyframes without losing a frame', async () => {
  const fixture = await newNode()
  fixture.change({ recording: recordingOf(1_000) })
  const feed = new Feed(await fixture.publish()).start()
  await ended(fixture, 2)
  await stopped(fixture, feed)
  fixture.change({ live: false })
  const { recording: _recording, ...rest } = fixture.stream
  fixture.stream = rest
  fixture.node.apply(rest)
  const parts = (await ended(fixture, 3)).map(({ path }) => path)
  expect(new Set(parts).size).toBe(parts.length)
  const frames = await Promise.all(parts.map(framesOf))
  const recorded = frames.flatMap(({ video }) => video)
  expect(new Set(recorded).size).toBe(recorded.length)
  // All frames except those that were in flight at the end.
  expect(feed.of('video').length - 1 - recorded.length).toBeLessThan(10)
  for (const { seconds } of await Promise.all(parts.slice(0, -1).map(probed)))
    expect(seconds).toBeGreaterThanOrEqual(0.95)
})

test('recording that is switched off and on again leaves complete files and loses no frame', async () => {
  const fixture = await newNode()
  const recording = recordingOf(500)
  fixture.change({ recording })
  const feed = new Feed(await fixture.publish()).start()
  await waitFor(() => feed.of('video').length > 30)
  const { recording: _recording, ...unrecorded } = fixture.stream
  for (const _ of [1, 2]) {
    fixture.node.apply(unrecorded)
    fixture.node.apply({ ...unrecorded, recording })
  }
  const started = () => fixture.events.filter(({ type }) => type === 'recording.started').length
  const before = started()
  expect(before).toBeGreaterThan(2)
  await waitFor(() => started() > before)
  await stopped(fixture, feed)
  fixture.node.remove(fixture.stream.streamId)
  const files = await ended(fixture, started())
  expect(files.map(({ failure }) => failure)).toEqual(files.map(() => null))
  expect(new Set(files.map(({ path }) => path)).size).toBe(started())
  // Each recording starts with the current GOP, so every frame is in one of the files.
  const recorded = new Set((await Promise.all(files.map(({ path }) => framesOf(path)))).flatMap(({ video }) => video))
  expect(feed.of('video').length - 1 - recorded.size).toBeLessThan(10)
})

test('a full disk ends only the recording, which can be repaired', async () => {
  const fixture = await newNode()
  diskSize = 300_000
  fixture.change({ recording: recordingOf() })
  const feed = new Feed(await fixture.publish()).start()
  const [event] = await ended(fixture)
  diskSize = Infinity
  expect(event?.failure).toBe('The disk is full.')
  const repaired = await repairRecording(event?.path ?? '')
  expect(repaired?.bytes).toBeLessThanOrEqual(300_000)
  expect((await framesOf(event?.path ?? '')).video.length).toBeGreaterThan(20)
  const before = fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0
  await waitFor(() => (fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0) > before + 200_000)
  expect(fixture.events.filter(({ type }) => type === 'recording.started')).toHaveLength(1)
  feed.stop()
})

test('a path that cannot be written ends only the recording', async () => {
  const fixture = await newNode()
  fixture.change({ recording: { ...recordingOf(), prefix: join(folder, 'nowhere', 'session') } })
  const feed = new Feed(await fixture.publish()).start()
  const [event] = await ended(fixture)
  expect(event?.failure).toBe('The recording cannot be written (ENOENT).')
  const before = fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0
  await waitFor(() => (fixture.node.status().streams[0]?.ingest?.bytesReceived ?? 0) > before + 20_000)
  feed.stop()
})
