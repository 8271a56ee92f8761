import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { makeClip, runFfmpeg } from '../testing/ffmpeg.ts'
import { readTags } from '../testing/flv-file.ts'
import type { MediaNodeSettings } from '../node.ts'
import { startNode, destinationTo, type NodeFixture } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkMessage } from '../testing/sink.ts'
import type { DesiredPlayout, MediaEvent } from '../types.ts'
import { createRandom } from '../testing/mutate.ts'
import { MovieReader } from './movie-reader.ts'
import { checkFile } from './suitability.ts'

let folder: string
const files = { one: '', two: '', fragmented: '' }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-playout-'))
  for (const name of Object.keys(files) as (keyof typeof files)[]) files[name] = join(folder, `${name}.mp4`)
  await makeClip(files.one, { seconds: 2 })
  await makeClip(files.two, { seconds: 1, bFrames: 0, group: 15, size: '640x360' })
  await runFfmpeg(
    '-i',
    files.one,
    '-c',
    'copy',
    '-movflags',
    '+frag_keyframe+empty_moov+default_base_moof',
    files.fragmented,
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

function playoutOf(paths: readonly string[], over: Partial<DesiredPlayout> = {}): DesiredPlayout {
  return {
    id: 'b1',
    items: paths.map((path) => ({ path })),
    loop: false,
    paused: false,
    item: 0,
    ms: 0,
    cue: 0,
    ...over,
  }
}

/** Starts a node that plays files to a sink. */
async function play(
  playout: DesiredPlayout,
  settings: Partial<MediaNodeSettings> = {},
): Promise<{ fixture: NodeFixture; sink: Sink }> {
  const sink = await startSink()
  open.push(() => sink.close())
  const fixture = await startNode([destinationTo(sink, 'one')], {}, settings)
  open.push(() => fixture.node.close())
  fixture.change({ playout })
  return { fixture, sink }
}

const ended = ({ events }: NodeFixture) =>
  waitFor(() =>
    events.find((event): event is Extract<MediaEvent, { type: 'playout.ended' }> => event.type === 'playout.ended'),
  )

const frames = (sink: Sink, kind: 'audio' | 'video') =>
  sink.messages(kind).filter(({ isSequenceHeader }) => !isSequenceHeader)

/** The message bodies that ffmpeg makes from the file. */
async function expected(file: string): Promise<Record<'audio' | 'video', { checksum: number; timestamp: number }[]>> {
  const flv = `${file}.flv`
  await runFfmpeg('-i', file, '-c', 'copy', '-f', 'flv', flv)
  const tags = readTags(readFileSync(flv)).filter(({ payload, type }) => type !== 18 && payload[1] === 1)
  const of = (kind: 'audio' | 'video') =>
    tags
      .filter(({ type }) => type === (kind === 'audio' ? 8 : 9))
      .map(({ payload, timestamp }) => ({ checksum: crc32(payload), timestamp }))
  return { audio: of('audio'), video: of('video') }
}

function expectInOrder(messages: readonly SinkMessage[]): void {
  for (const [index, message] of messages.entries()) {
    expect(message.timestamp).toBeGreaterThanOrEqual(messages[index - 1]?.timestamp ?? 0)
  }
}

test('sends every frame of a file in order and in real time', async () => {
  const wanted = await expected(files.one)
  const startedAt = performance.now()
  const { fixture, sink } = await play(playoutOf([files.one]))
  expect(await ended(fixture)).toMatchObject({ reason: 'finished', message: null, relieved: false })
  const all = wanted.video.length + wanted.audio.length
  await waitFor(() => frames(sink, 'video').length + frames(sink, 'audio').length === all)
  for (const kind of ['video', 'audio'] as const) {
    const received = frames(sink, kind)
    expect(received.map(({ checksum }) => checksum)).toEqual(wanted[kind].map(({ checksum }) => checksum))
    const distances = (list: readonly { timestamp: number }[]) =>
      list.map(({ timestamp }) => timestamp - list[0]!.timestamp)
    expect(distances(received)).toEqual(distances(wanted[kind]))
  }
  const video = frames(sink, 'video')
  expect(video.at(-1)!.at - startedAt).toBeGreaterThan(1_500)
  expect(fixture.events.map(({ type }) => type)).toContain('ingest.ended')
})

test('stops when the host is lost, and starts at the requested position when it is back', async () => {
  const host = { isAlive: true }
  const playout = playoutOf([files.one], { loop: true })
  const { fixture, sink } = await play(playout, { isHostAlive: () => host.isAlive })
  await waitFor(() => frames(sink, 'video').length > 40)
  host.isAlive = false
  await waitFor(() => sink.last()!.closed)
  expect(fixture.events).toContainEqual({ type: 'playout.lapsed', streamId: 'stream-1', playoutId: 'b1' })
  host.isAlive = true
  const { ms } = fixture.events.findLast((event) => event.type === 'playout.moved')!
  fixture.change({ playout: { ...playout, ms } })
  await waitFor(() => (sink.connections[1]?.of('video').length ?? 0) > 10)
  expect(sink.connections.length).toBe(2)
})

/** Reads all frames of a file. */
async function contentOf(path: string): Promise<{ kind: string; ms: number; checksum: number }[]> {
  const movie = await MovieReader.open(path)
  const found = []
  try {
    for (let frame = await movie.next(); frame; frame = await movie.next()) {
      found.push({ kind: frame.kind, ms: frame.ms, checksum: crc32(frame.payload) })
    }
  } finally {
    await movie.close()
  }
  return found
}

test('reads the same frames from a fragmented file', async () => {
  const wanted = await expected(files.fragmented)
  const found = await contentOf(files.fragmented)
  for (const kind of ['video', 'audio'] as const) {
    const received = found
      .filter((frame) => frame.kind === kind)
      .map(({ checksum, ms }) => ({ checksum, timestamp: ms }))
    expect(received).toEqual(wanted[kind])
  }
})

test('damaged files are read or cause a PlayoutError', async () => {
  const whole = await Promise.all([files.one, files.fragmented].map((path) => readFile(path)))
  const path = join(folder, 'damaged.mp4')
  const random = createRandom(7)
  for (let round = 0; round < 150; round += 1) {
    const bytes = Buffer.from(whole[round % 2]!)
    const index = round % 2 === 0 ? bytes.indexOf('moov') : 0
    for (let change = random(5); change >= 0; change -= 1) {
      bytes.writeUInt32BE([0, 1, 0xffff_ffff, 0x7fff_ffff, random(2 ** 31)][random(5)]!, index + random(1_500))
    }
    await writeFile(path, bytes.subarray(0, random(10) === 0 ? random(bytes.length) : bytes.length))
    const outcome = await contentOf(path).then(
      () => 'read',
      (error: Error) => error.name,
    )
    expect(['read', 'PlayoutError']).toContain(outcome)
  }
})

test('timestamps continue across files and repetitions', async () => {
  const { fixture, sink } = await play(playoutOf([files.two, files.one], { loop: true, ms: 500 }))
  const videoFrames = readTags(readFileSync(`${files.one}.flv`)).filter(
    ({ payload, type }) => type === 9 && payload[1] === 1,
  )
  // Half a second of the first file, all of the second, and a part of the first again.
  await waitFor(() => frames(sink, 'video').length > 15 + videoFrames.length + 20)
  const video = frames(sink, 'video')
  expectInOrder(video)
  expectInOrder(frames(sink, 'audio'))
  for (const [index, { timestamp }] of video.entries()) {
    if (index > 0) expect(timestamp - video[index - 1]!.timestamp).toBeLessThanOrEqual(150)
  }
  expect(sink.messages('video').filter(({ isSequenceHeader }) => isSequenceHeader).length).toBeGreaterThanOrEqual(3)
  expect(sink.connections.length).toBe(1)
  expect(fixture.events.filter(({ type }) => type === 'ingest.started').length).toBe(1)
  const moved = fixture.events.filter((event) => event.type === 'playout.moved').map(({ item }) => item)
  expect(new Set(moved)).toEqual(new Set([0, 1]))
})

test('sends a still frame while paused, and resumes at the same position', async () => {
  const { fixture, sink } = await play(playoutOf([files.one]))
  await waitFor(() => frames(sink, 'video').length > 35)
  fixture.change({ playout: playoutOf([files.one], { paused: true }) })
  const position = () => fixture.node.status().streams[0]?.playout?.ms
  const before = await waitFor(() =>
    fixture.node.status().streams[0]?.playout?.paused ? frames(sink, 'video').length : undefined,
  )
  const pausedAt = position()
  await waitFor(() => frames(sink, 'video').length >= before + 3)
  const still = frames(sink, 'video').slice(-2)
  expect(still.every(({ isKeyframe }) => isKeyframe)).toBe(true)
  expect(new Set(still.map(({ checksum }) => checksum)).size).toBe(1)
  expect(position()).toBe(pausedAt)
  fixture.change({ playout: playoutOf([files.one]) })
  expect(await ended(fixture)).toMatchObject({ reason: 'finished' })
  const wanted = (await expected(files.one)).video.map(({ checksum }) => checksum)
  await waitFor(() => frames(sink, 'video').at(-1)?.checksum === wanted.at(-1))
  // The pause skips no frame.
  const received = new Set(frames(sink, 'video').map(({ checksum }) => checksum))
  expect(wanted.filter((checksum) => !received.has(checksum))).toEqual([])
  expectInOrder(frames(sink, 'video'))
  expectInOrder(frames(sink, 'audio'))
})

test('moves to a cue and skips a file that cannot be played', async () => {
  const missing = join(folder, 'missing.mp4')
  const list = [files.one, missing, files.two]
  const { fixture, sink } = await play(playoutOf(list))
  await waitFor(() => frames(sink, 'video').length > 5)
  fixture.change({ playout: playoutOf(list, { item: 1, ms: 0, cue: 1 }) })
  expect(await ended(fixture)).toMatchObject({ reason: 'finished' })
  expect(fixture.events).toContainEqual(
    expect.objectContaining({ type: 'playout.skipped', item: 1, message: 'The file no longer exists.' }),
  )
  expect(frames(sink, 'video').length).toBeLessThan(60 + 30)
  const nothing = await play(playoutOf([missing]))
  expect(await ended(nothing.fixture)).toMatchObject({ reason: 'failed', message: 'The file no longer exists.' })
})

test('names what prevents a file from being streamed', async () => {
  const faults = async (name: string, ...extra: string[]) => {
    const file = join(folder, name)
    await makeClip(file, { seconds: 1, extra })
    return (await checkFile(file)).faults.join(' ')
  }
  expect((await checkFile(files.one)).faults).toEqual([])
  expect((await checkFile(files.fragmented)).faults).toEqual([])
  expect(await faults('no-audio.mp4', '-an')).toContain('no audio')
  expect(await faults('no-video.mp4', '-vn')).toContain('no video')
  expect(await faults('mpeg4.mp4', '-c:v', 'mpeg4')).toContain('MPEG-4 Part 2. Live platforms accept H.264')
  expect(await faults('ac3.mp4', '-c:a', 'ac3')).toContain('AC-3. Live platforms accept AAC')
  expect(await faults('yuv422.mp4', '-pix_fmt', 'yuv422p')).toContain('4:2:2')
  expect(await faults('film.mkv')).toContain('Only MP4 and QuickTime')
  const long = join(folder, 'long.mp4')
  await makeClip(long, { seconds: 6, group: 1_000 })
  expect(await checkFile(long)).toMatchObject({
    faults: [expect.stringContaining('keyframe interval is up to 6.0 s')],
    keyframeIntervalSeconds: expect.closeTo(6, 1),
  })
})
