import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { enhancedMessages, makeEnhancedClip, sendAll, type EnhancedCodec } from '../testing/enhanced-clip.ts'
import { aacFrame, avcFrame, avcHeader, enhancedVideo } from '../testing/media-payloads.ts'
import { startNode, type NodeFixture } from '../testing/node-fixture.ts'
import type { DesiredRecording } from '../types.ts'
import { repairRecording } from './repair.ts'

let folder: string
let fixture: NodeFixture
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-enhanced-'))
})
afterEach(() => fixture.node.close())
afterAll(() => rm(folder, { recursive: true, force: true }))

let count = 0
function recordingOf(splitMs = 60_000): DesiredRecording {
  count += 1
  return { sessionId: `session-${count}`, prefix: join(folder, `session-${count}`), splitMs }
}

interface Packet {
  readonly codec_type: string
  readonly pts_time: string
  readonly flags: string
  readonly data_hash: string
}

/** Reads codecs, sizes, packet hashes and warnings of a file with ffprobe. */
async function probed(path: string) {
  const entries = 'packet=codec_type,pts_time,flags,data_hash:stream=codec_name,codec_tag_string,width,height,channels'
  const args = [
    '-v',
    'warning',
    '-show_data_hash',
    'md5',
    '-show_packets',
    '-show_entries',
    entries,
    '-of',
    'json',
    path,
  ]
  const { stderr, stdout } = await promisify(execFile)('ffprobe', args, { maxBuffer: 64 * 1024 * 1024 })
  const { packets, streams } = JSON.parse(stdout) as { packets: Packet[]; streams: object[] }
  const of = (kind: string) => packets.filter(({ codec_type }) => codec_type === kind)
  return { warnings: stderr, streams, video: of('video'), audio: of('audio') }
}

/** Decodes a whole file. Returns the warnings of ffmpeg. */
async function decodeWarnings(path: string): Promise<string> {
  const args = ['-v', 'warning', '-xerror', '-err_detect', 'explode', '-i', path, '-f', 'null', '-']
  return (await promisify(execFile)('ffmpeg', args)).stderr
}

const hashes = (packets: readonly Packet[]) => packets.map(({ data_hash }) => data_hash)
const times = (packets: readonly Packet[]) =>
  packets.map(({ pts_time }) => Number(pts_time) - Number(packets[0]?.pts_time))
const keyframes = (packets: readonly Packet[]) => packets.map(({ flags }) => flags.startsWith('K'))

const received = () => fixture.node.status().streams[0]?.ingest?.bytesReceived
const ended = () => fixture.events.flatMap((event) => (event.type === 'recording.ended' ? [event] : []))

/** Ends the stream. Returns its files when they are complete. */
async function files(): Promise<string[]> {
  const started = fixture.events.flatMap((event) => (event.type === 'recording.started' ? [event.path] : []))
  fixture.node.remove(fixture.stream.streamId)
  await waitFor(() => ended().length === started.length)
  expect(ended().map(({ failure }) => failure)).toEqual(ended().map(() => null))
  // Short files may be completed in any order.
  return started
}

test.each<[EnhancedCodec, string]>([
  ['hevc', 'hvc1'],
  ['av1', 'av01'],
  ['vp9', 'vp09'],
])('%s with Opus is recorded packet by packet, and a truncated file is repaired', async (codec, tag) => {
  const clip = join(folder, `${codec}.mp4`)
  await makeEnhancedClip(clip, codec, 2)
  const messages = await enhancedMessages(clip, codec)
  fixture = await startNode([])
  fixture.change({ recording: recordingOf() })
  sendAll(await fixture.publish(), messages)
  const sum = messages.reduce((bytes, { payload }) => bytes + payload.length, 0)
  await waitFor(() => received() === sum)
  expect(fixture.node.status().streams[0]).toMatchObject({
    ingest: { width: codec === 'vp9' ? null : 320 },
    recording: { refused: null },
  })
  const [path = ''] = await files()
  const [wanted, made, warnings] = await Promise.all([probed(clip), probed(path), decodeWarnings(path)])
  expect(made.warnings).toBe('')
  expect(made.streams).toEqual(wanted.streams)
  expect(made.streams).toMatchObject([{ codec_tag_string: tag, width: 320, height: 180 }, { codec_tag_string: 'Opus' }])
  expect(hashes(made.video)).toEqual(hashes(wanted.video))
  expect(keyframes(made.video)).toEqual(keyframes(wanted.video))
  expect(hashes(wanted.audio).slice(-made.audio.length)).toEqual(hashes(made.audio))
  expect(wanted.audio.length - made.audio.length).toBeLessThan(3)
  const [wantedTimes, madeTimes] = [times(wanted.video), times(made.video)]
  madeTimes.forEach((time, index) => expect(Math.abs(time - wantedTimes[index]!)).toBeLessThan(0.003))
  expect(warnings).toBe('')

  // A truncated file is repaired up to its last complete fragment.
  const { size } = await stat(path)
  await truncate(path, size - 200)
  const repaired = await repairRecording(path)
  expect(repaired?.bytes).toBeLessThan(size - 200)
  expect(repaired?.seconds).toBeGreaterThan(1)
  expect(await decodeWarnings(path)).toBe('')
})

test('a new file starts when the codec changes and when the split time is reached', async () => {
  const hevc = await enhancedMessages(join(folder, 'hevc.mp4'), 'hevc')
  const av1 = await enhancedMessages(join(folder, 'av1.mp4'), 'av1')
  fixture = await startNode([])
  fixture.change({ recording: recordingOf(1_000) })
  const publisher = await fixture.publish()
  sendAll(publisher, hevc)
  sendAll(publisher, av1, 2_100)
  const sum = [...hevc, ...av1].reduce((bytes, { payload }) => bytes + payload.length, 0)
  await waitFor(() => received() === sum)
  const parts = await Promise.all(
    (await files()).map(async (path) => ({ ...(await probed(path)), decoding: await decodeWarnings(path) })),
  )
  const clips = await Promise.all(['hevc', 'av1'].map((name) => probed(join(folder, `${name}.mp4`))))
  expect(parts.map(({ decoding }) => decoding)).toEqual(parts.map(() => ''))
  expect(parts.map(({ streams }) => streams[0])).toMatchObject(
    ['hvc1', 'hvc1', 'av01', 'av01'].map((codec_tag_string) => ({ codec_tag_string })),
  )
  expect(parts.flatMap(({ video }) => hashes(video))).toEqual(clips.flatMap(({ video }) => hashes(video)))
})

test('a track that cannot be recorded is reported once, and the other track is recorded', async () => {
  fixture = await startNode([])
  fixture.change({ recording: recordingOf() })
  const publisher = await fixture.publish()
  const refusals = () => fixture.events.flatMap((event) => (event.type === 'recording.refused' ? [event.message] : []))
  const vp8 = 'The video is vp8. Only H.264, HEVC, AV1 and VP9 can be recorded.'
  for (const time of [0, 40, 80]) publisher.video(time, enhancedVideo('vp08', 1, true))
  await waitFor(() => refusals().length > 0)
  expect(fixture.node.status().streams[0]?.recording).toEqual({ bytes: 0, seconds: 0, refused: vp8 })
  publisher.video(120, enhancedVideo('hvc1', 0, true))
  for (const time of [120, 160]) publisher.video(time, enhancedVideo('hvc1', 3, true))
  const damaged = 'The video cannot be recorded: its sequence header is damaged.'
  await waitFor(() => refusals().length > 1)
  publisher.video(200, avcHeader())
  const mp3 = Buffer.concat([Buffer.of(0x2f), aacFrame(40)])
  for (let time = 200; time < 1_000; time += 40) {
    publisher.video(time, avcFrame(time === 200))
    publisher.audio(time, mp3)
  }
  await waitFor(() => (fixture.node.status().streams[0]?.recording?.seconds ?? 0) > 0)
  const audio = 'The audio is mp3. Only AAC and Opus can be recorded.'
  expect(refusals()).toEqual([vp8, damaged, audio])
  expect(fixture.node.status().streams[0]?.recording).toMatchObject({ refused: audio })
  const [path = ''] = await files()
  expect((await probed(path)).streams).toMatchObject([{ codec_name: 'h264' }])
})
