import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { enhancedMessages, makeEnhancedClip, sendAll } from '../../media/testing/enhanced-clip.ts'
import { Feed } from '../../media/testing/feed.ts'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import { readTags } from '../../media/testing/flv-file.ts'
import { TestPublisher } from '../../media/testing/publisher.ts'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { AUDIO } from '../../media/rtmp/flv.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { createDatabase } from '../support/postgres.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

interface SeenRecording {
  readonly assetId: string | null
  readonly status: string
  readonly duration: number | null
}
interface SeenSession {
  readonly recordings: readonly SeenRecording[]
  readonly recordingAssetId: string | null
}

interface SeenFile {
  readonly bytes: number
  readonly duration: number
  readonly error: string | null
}

let database: Awaited<ReturnType<typeof createDatabase>>
let app: App
let world: World
let caller: ApiCaller
let caster: Broadcaster
let workspaceId: string
let folder: string
let clip: string
const sinks: Sink[] = []

const start = () =>
  startApp({
    media: true,
    databaseUrl: database.url,
    dataDir: join(folder, 'data'),
    env: { ALLOW_PRIVATE_ADDRESSES: '1' },
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-recordings-'))
  await makeClip(join(folder, 'clip.mp4'), { seconds: 3, group: 15 })
  database = await createDatabase()
  app = await start()
  world = new World(app)
  workspaceId = await world.workspace('acme', 'ada')
  caller = world.as('ada')
  caster = new Broadcaster(app, caller, workspaceId)
  const file = { name: 'clip.mp4', content: new Uint8Array(await readFile(join(folder, 'clip.mp4'))) }
  clip = (await caster.call<{ _id: string }>('POST /api/assets/upload', { body: { workspaceId }, file }))._id
  await untilExamined(clip)
})
afterAll(async () => {
  await app?.stop()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})
afterEach(async () => {
  caster.close()
  for (const sink of sinks.splice(0)) await sink.close()
})

const recordingsFolder = () => join(app.dataDir, 'recordings')

const untilExamined = (id: string) =>
  waitFor(
    async () => {
      const asset = await caster.call<{ thumbnail: { status: string }; duration: number; tags: string[] }>(
        'GET /api/assets/{id}',
        { path: { id } },
      )
      return asset.thumbnail.status === 'pending' ? undefined : asset
    },
    { timeoutMs: 120_000, what: 'the asset to be examined' },
  )

/** A stream with recording enabled. */
async function recordedStream(): Promise<{ id: string; streamKey: string; sink: Sink }> {
  const sink = await startSink()
  sinks.push(sink)
  const { _id: id, streamKey } = await caster.stream({ one: sink })
  await caster.call('PUT /api/streams/{id}', { path: { id }, body: { title: 'Launch', record: true } })
  return { id, streamKey, sink }
}

async function session(id: string): Promise<SeenSession | undefined> {
  return (await caster.call<SeenSession[]>('GET /api/streams/{id}/sessions', { path: { id } }))[0]
}

/** The recordings of the last session, when this many exist and all are in the media library. */
const untilKept = (id: string, count: number) =>
  waitFor(
    async () => {
      const seen = await session(id)
      const isKept = seen?.recordings.every(({ status }) => status === 'ready') ?? false
      return seen && isKept && seen.recordings.length >= count ? seen : undefined
    },
    { what: `${count} recordings` },
  )

/** Waits until more than `seconds` are reported and on disk. @returns the reported state */
const untilOnDisk = (id: string, seconds: number) =>
  waitFor(
    async () => {
      const reply = await caster.call<{ recording: SeenFile | null }>('GET /api/streams/{id}/relay', { path: { id } })
      const reported = reply.recording
      const [file] = await readdir(recordingsFolder())
      if (reported === null || file === undefined || reported.duration <= seconds) return undefined
      const { size } = await stat(join(recordingsFolder(), file))
      return size >= reported.bytes ? reported : undefined
    },
    { what: `${seconds} s on disk` },
  )

async function downloaded(assetId: string | null): Promise<string> {
  const path = join(folder, `${assetId}.mp4`)
  const url = `${app.url}/api/assets/${assetId}/file`
  const reply = await fetch(url, { headers: { 'X-API-Key': world.key('ada') } })
  await writeFile(path, new Uint8Array(await reply.arrayBuffer()))
  return path
}

/** Duration of a file in seconds, measured by decoding it. */
async function playedSeconds(path: string): Promise<number> {
  const { stderr } = await promisify(execFile)('ffmpeg', ['-v', 'error', '-xerror', '-i', path, '-f', 'null', '-'])
  expect(stderr).toBe('')
  const entries = ['-show_entries', 'packet=pts_time', '-select_streams', 'v', '-of', 'csv=p=0']
  const { stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', ...entries, path])
  return Math.max(...stdout.split('\n').filter(Boolean).map(Number))
}

test('stores recordings in the media library, also those of a killed process', async () => {
  const { id, sink } = await recordedStream()
  await caster.call('POST /api/streams/{id}/broadcast', { path: { id }, body: { assetId: clip, loop: true } })
  await caster.until(id, 'live')
  const videoFrames = () => sink.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)
  await waitFor(() => videoFrames().length > 75)
  const { duration: seconds } = await untilOnDisk(id, 2)
  process.kill(app.node.media?.pid() ?? 0, 'SIGKILL')
  await waitFor(() => sink.connections[0]?.closed)
  await waitFor(() => (sink.connections[1]?.of('video').length ?? 0) > 40)
  expect(await session(id)).toMatchObject({ recordings: [{}, {}] })
  await caster.stop(id)
  const { recordingAssetId, recordings } = await untilKept(id, 2)
  expect(recordings[0]?.assetId).toBe(recordingAssetId)
  expect(recordings[0]?.duration).toBeGreaterThan(seconds - 0.01)
  const [first, second] = await Promise.all(
    recordings.map(async ({ assetId }) => playedSeconds(await downloaded(assetId))),
  )
  // `playedSeconds` does not include the duration of the last frame.
  expect(first).toBeGreaterThan(seconds - 0.1)
  expect(second).toBeGreaterThan(1)
  const asset = await untilExamined(recordingAssetId ?? '')
  expect(asset).toMatchObject({ tags: ['recording'], thumbnail: { status: 'ready' } })
  expect(asset.duration).toBeCloseTo(recordings[0]?.duration ?? 0, 0)
  expect(await readdir(recordingsFolder())).toEqual([])
  const held = await app.database.row<{ count: number }>('select count(*)::int as count from storage_reservations')
  expect(held?.count).toBe(0)
  const counted = await app.node.resources.metrics.getSingleMetricAsString('crier_recording_files_total')
  expect(counted).toMatch(/event="begun"\} [2-9]/)
  expect(counted).toMatch(/event="whole"\} [1-9]/)
})

test('creates an asset with a thumbnail from a recording with HEVC and Opus', async () => {
  const path = join(folder, 'hevc.mp4')
  await makeEnhancedClip(path, 'hevc', 2)
  const { id, streamKey } = await recordedStream()
  await caster.goLive(id, { waitForIngest: true })
  const publisher = await TestPublisher.connect({ port: app.config.RTMP_PORT })
  await publisher.publish(streamKey)
  publisher.setChunkSize(65_536)
  const messages = await enhancedMessages(path, 'hevc')
  sendAll(publisher, messages)
  await caster.until(id, 'live')
  const recorded = async () =>
    (await caster.call<{ recording: SeenFile | null }>('GET /api/streams/{id}/relay', { path: { id } })).recording
  expect(await waitFor(recorded)).toMatchObject({ error: null })
  sendAll(publisher, messages, 2_033)
  await waitFor(async () => ((await recorded())?.duration ?? 0) > 1.9)
  await caster.stop(id)
  publisher.close()
  const { recordingAssetId } = await untilKept(id, 1)
  expect(await untilExamined(recordingAssetId ?? '')).toMatchObject({
    type: 'video/mp4',
    codecs: { video: 'hevc', audio: 'opus' },
    width: 320,
    thumbnail: { status: 'ready' },
  })
})

test('records an audio-only stream as an audio file', async () => {
  const { id, streamKey } = await recordedStream()
  await caster.goLive(id, { waitForIngest: true })
  const publisher = await TestPublisher.connect({ port: app.config.RTMP_PORT })
  await publisher.publish(streamKey)
  const path = join(folder, 'sound.flv')
  await makeClip(path, { seconds: 4, extra: ['-vn'] })
  for (const { payload, timestamp, type } of readTags(await readFile(path)))
    if (type === AUDIO) publisher.send(type, timestamp, payload)
  const recording = async () =>
    (await caster.call<{ recording: SeenFile | null }>('GET /api/streams/{id}/relay', { path: { id } })).recording
  await waitFor(async () => ((await recording())?.duration ?? 0) > 3)
  expect(await recording()).toMatchObject({ error: null })
  await caster.stop(id)
  publisher.close()
  const { recordingAssetId } = await untilKept(id, 1)
  const asset = await untilExamined(recordingAssetId ?? '')
  expect(asset).toMatchObject({ type: 'audio/mp4', codecs: { audio: 'aac' }, name: expect.stringMatching(/\.m4a$/) })
  expect(asset.duration).toBeCloseTo(4, 0)
})

test('ends and keeps a recording when the plan has no storage left, with a warning', async () => {
  const { storageBytes } = await app.composition.services.plans.limitsOf(world.id('ada'))
  const { quota } = app.composition.services.assets
  const { files, held, renditions } = await quota.usedBy(app.database, world.id('ada'))
  const filler = '01939c5e-7a3b-7c21-9f58-0000000000cc'
  await quota.reserve(workspaceId, filler, storageBytes - files - held - renditions - 2_500_000)
  const { id, streamKey } = await recordedStream()
  const publisher = await TestPublisher.connect({ port: app.config.RTMP_PORT })
  await caster.goLive(id, { waitForIngest: true })
  await publisher.publish(streamKey)
  publisher.setChunkSize(65_536)
  const feed = new Feed(publisher, { videoBytes: 40_000 }).start()
  const warned = () =>
    app.database.row<{ message: string }>(
      `select data->>'message' as message from workspace_events
       where type = 'stream.warning' and data->>'streamId' = $1 and data->>'code' = 'recording_stopped'`,
      [id],
    )
  expect((await waitFor(warned)).message).toContain('the storage of the plan is used up')
  const { recordings } = await untilKept(id, 1)
  expect(recordings).toMatchObject([{ status: 'ready' }])
  // The stream continues.
  expect(await caster.get(id)).toMatchObject({ status: 'live' })
  feed.stop()
  publisher.close()
  await caster.stop(id)
  await quota.release(filler)
})

test('imports the unfinished recording of a killed node when it restarts', async () => {
  const { id, streamKey } = await recordedStream()
  await caster.goLive(id, { waitForIngest: true })
  await caster.publish(streamKey)
  await caster.until(id, 'live')
  const sessionId = await waitFor(async () => {
    const [row] = await app.database.rows<{ session_id: string }>(
      'select session_id from stream_recordings where stream_id = $1',
      [id],
    )
    return row?.session_id
  })
  await caster.stop(id)
  caster.close()
  await untilKept(id, 1)
  const apiKey = world.key('ada')
  await app.stop()
  // The file of a killed node ends in the middle of a fragment and has no duration.
  const path = join(folder, 'data', 'recordings', `${workspaceId}.${id}.${sessionId}.${Date.now()}.mp4`)
  const flags = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof']
  await makeClip(path, { seconds: 3, group: 15, extra: flags })
  await truncate(path, (await stat(path)).size - 2_000)
  app = await start()
  caller = new ApiCaller(app, { apiKey })
  caster = new Broadcaster(app, caller, workspaceId)
  const { recordings } = await untilKept(id, 2)
  const { assetId, duration } = recordings.at(-1) ?? {}
  expect(duration).toBeGreaterThan(2)
  expect(await untilExamined(assetId ?? '')).toMatchObject({ tags: ['recording'], thumbnail: { status: 'ready' } })
  expect(await readdir(recordingsFolder())).toEqual([])
})
