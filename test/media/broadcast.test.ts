import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { brightnessOf } from '../../media/testing/brightness.ts'
import { writeMatrix } from '../../media/testing/display-matrix.ts'
import { makeClip, runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { readTags } from '../../media/testing/flv-file.ts'
import { startSink, type Sink, type SinkBehaviour } from '../../media/testing/sink.ts'
import { HOUR, systemClock, type Clock } from '../../src/core/clock.ts'
import { recordRendition } from '../../src/domains/media/assets/turns.ts'
import { startBroadcast } from '../../src/domains/live/playout/turns.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { createDatabase } from '../support/postgres.ts'
import { waitFor } from '../support/wait.ts'
import { ApiCaller, World } from '../support/world.ts'

interface SeenBroadcast {
  readonly _id: string
  readonly status: string
  readonly item: number
  readonly position: number
  readonly error: string | null
  readonly preparation: { readonly fileCount: number; readonly readyCount: number; readonly progress: number } | null
  readonly items: readonly {
    readonly name: string
    readonly renditionId: string | null
    readonly duration: number
    readonly startSeconds: number | null
    readonly error: string | null
  }[]
}

/** Real time, which a test can move forward. */
const clock: Clock & { ahead: number } = {
  ahead: 0,
  now: () => systemClock.now() + clock.ahead,
  monotonic: () => systemClock.monotonic() + clock.ahead,
}

let folder: string
let database: Awaited<ReturnType<typeof createDatabase>>
let app: App
let caller: ApiCaller
let caster: Broadcaster
let workspaceId: string
let apiKey: string
const assets: Record<string, string> = {}
const sinks: Sink[] = []

const start = () =>
  startApp({
    media: true,
    clock,
    databaseUrl: database.url,
    dataDir: join(folder, 'data'),
    env: { ALLOW_PRIVATE_ADDRESSES: '1' },
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-broadcast-'))
  const unfit = { odd: ['-c:a', 'libopus'], hevc: ['-c:v', 'libx265', '-x265-params', 'log-level=error', '-an'] }
  const clips = { first: [], second: [], mute: ['-an'] }
  for (const [name, extra] of Object.entries({ ...clips, ...unfit })) {
    await makeClip(join(folder, `${name}.mp4`), { seconds: name === 'second' ? 6 : 2, group: 15, extra })
  }
  database = await createDatabase()
  app = await start()
  const world = new World(app)
  workspaceId = await world.workspace('acme', 'ada')
  apiKey = world.key('ada')
  caller = world.as('ada')
  caster = new Broadcaster(app, caller, workspaceId)
  await Promise.all(Object.keys(clips).map(async (name) => (assets[name] = await upload(`${name}.mp4`))))
})
afterAll(async () => {
  await app?.stop()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close()
})

/** Uploads a file and waits until it was examined. */
const upload = (name: string) => caster.upload(join(folder, name))

async function streamTo(behaviour: SinkBehaviour = {}): Promise<{ id: string; sink: Sink }> {
  const sink = await startSink(behaviour)
  sinks.push(sink)
  return { id: (await caster.stream({ one: sink }))._id, sink }
}

const broadcast = (id: string, body: object) =>
  caster.call<SeenBroadcast>('POST /api/streams/{id}/broadcast', { path: { id }, body })
const change = (id: string, body: object) =>
  caster.call<SeenBroadcast>('PATCH /api/streams/{id}/broadcast', { path: { id }, body })
const current = (id: string) => caster.call<SeenBroadcast>('GET /api/streams/{id}/broadcast', { path: { id } })

function until(id: string, is: (broadcast: SeenBroadcast) => boolean, what: string): Promise<SeenBroadcast> {
  const check = async () => {
    const seen = await current(id)
    return is(seen) ? seen : undefined
  }
  return waitFor(check, { what })
}

const videoFrames = (sink: Sink) => sink.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)

async function renditions(assetId: string): Promise<readonly { readonly _id: string }[]> {
  const asset = await caster.call<{ renditions: { _id: string }[] }>('GET /api/assets/{id}', { path: { id: assetId } })
  return asset.renditions
}

/** The statuses in the events of a stream's broadcasts. */
async function statuses(id: string): Promise<string[]> {
  const events = await app.database.rows<{ status: string }>(
    `select data->>'status' as status from workspace_events where type = 'broadcast.updated' and data->>'streamId' = $1
     order by seq`,
    [id],
  )
  return events.map(({ status }) => status)
}

async function refusal(id: string, body: object): Promise<{ code: string; message: string }> {
  return (await caller.call('POST /api/streams/{id}/broadcast', { path: { id }, body })).body
}

test('sends every frame of a file to the destination, and ends the stream after it', async () => {
  const flv = join(folder, 'first.flv')
  await runFfmpeg('-i', join(folder, 'first.mp4'), '-c', 'copy', '-f', 'flv', flv)
  const frames = readTags(readFileSync(flv)).filter(({ payload, type }) => type === 9 && payload[1] === 1)
  const { id, sink } = await streamTo()
  expect(await broadcast(id, { assetId: assets['first'] })).toMatchObject({
    status: 'playing',
    items: [{ name: 'first.mp4', duration: expect.closeTo(2, 0), error: null }],
  })
  await caster.until(id, 'live')
  expect(await refusal(id, { assetId: assets['first'] })).toMatchObject({ code: 'conflict' })
  const removal = await caller.call('DELETE /api/assets/{id}', { path: { id: assets['first'] ?? '' } })
  expect(removal).toMatchObject({
    status: 409,
    body: { message: expect.stringMatching(/^The stream “.+” needs it\./) },
  })
  expect(await caster.until(id, 'ended')).toMatchObject({ endReason: 'finished' })
  expect(await current(id)).toMatchObject({ status: 'finished', error: null })
  expect(videoFrames(sink).map(({ checksum }) => checksum)).toEqual(frames.map(({ payload }) => crc32(payload)))
  expect(await statuses(id)).toEqual(['playing', 'finished'])
})

test('refuses unsuitable files, invalid requests and streams in use, with the reason', async () => {
  const { id } = await streamTo()
  expect(await refusal(id, { assetId: assets['mute'], transcode: 'never' })).toMatchObject({
    code: 'unfit_file',
    message:
      '“mute.mp4” cannot be broadcast as it is. It has no audio. Live platforms require an audio track, even if it is silent. Make a rendition with the preset `live` and broadcast that.',
  })
  expect(await refusal(id, {})).toMatchObject({ code: 'validation_failed' })
  expect(await refusal(id, { assetId: assets['first'], startAt: 60 })).toMatchObject({ code: 'validation_failed' })
  expect(await refusal(id, { assetId: assets['first'], scheduledFor: '2020-01-01T18:00:00Z' })).toMatchObject({
    message: 'The field scheduledFor must not be in the past. Omit it to start at once.',
  })
  expect(await refusal(id, { assetId: '01939c5e-7a3b-7c21-9f58-2f6f2c1d0a31' })).toMatchObject({ code: 'not_found' })
  expect(
    (await caller.call('PATCH /api/streams/{id}/broadcast', { path: { id }, body: { paused: true } })).status,
  ).toBe(409)
  const { streamKey } = await caster.get(id)
  await caster.publish(streamKey)
  await caster.until(id, 'receiving')
  expect(await refusal(id, { assetId: assets['first'] })).toMatchObject({
    message: 'A publisher is sending. Stop the encoder first.',
  })
  caster.close()
})

test('converts an unsuitable file before the broadcast starts', async () => {
  const assetId = await upload('hevc.mp4')
  const { id, sink } = await streamTo()
  expect(await broadcast(id, { assetId })).toMatchObject({
    status: 'preparing',
    preparation: { fileCount: 1, readyCount: 0 },
    items: [{ renditionId: expect.any(String), error: null }],
  })
  expect(await refusal(id, { assetId: assets['first'] })).toMatchObject({
    message: expect.stringContaining('already being prepared'),
  })
  expect((await caster.get(id)).status).toBe('idle')
  await caster.until(id, 'live')
  expect(await current(id)).toMatchObject({ status: 'playing', preparation: null })
  await caster.until(id, 'ended')
  expect(await current(id)).toMatchObject({ status: 'finished', items: [{ error: null }] })
  const [connection] = sink.connections
  expect(connection?.of('video').length).toBeGreaterThan(55)
  // The file has no audio, so the rendition has silence.
  expect((connection?.of('audio').at(-1)?.timestamp ?? 0) / 1_000).toBeGreaterThan(1.5)
  const reported = await statuses(id)
  expect(reported.filter((status, index) => status !== reported[index - 1])).toEqual([
    'preparing',
    'playing',
    'finished',
  ])

  // A second broadcast uses the same rendition.
  const again = await streamTo()
  expect(await broadcast(again.id, { assetId })).toMatchObject({ status: 'playing' })
  await caster.call('DELETE /api/streams/{id}/broadcast', { path: { id: again.id } })
})

test('refuses a rotated file with the reason, or converts it to upright video', async () => {
  const sides = 'drawbox=w=160:h=180:color=white:t=fill,drawbox=x=160:w=160:h=180:color=black:t=fill'
  await makeClip(join(folder, 'rotated.mp4'), { seconds: 1, extra: ['-vf', sides] })
  await writeMatrix(join(folder, 'rotated.mp4'), [0, 1, -1, 0])
  const assetId = await upload('rotated.mp4')
  const { id, sink } = await streamTo({ keepMedia: true })
  expect(await refusal(id, { assetId, transcode: 'never' })).toMatchObject({
    code: 'unfit_file',
    message: expect.stringContaining('Players rotate the video by 90°. A live stream would show it without rotation.'),
  })
  expect(await broadcast(id, { assetId })).toMatchObject({ status: 'preparing' })
  await caster.until(id, 'ended')
  expect(await current(id)).toMatchObject({ status: 'finished', items: [{ error: null }] })
  const [received, top] = [join(folder, 'received.flv'), join(folder, 'top.mp4')]
  await writeFile(received, sink.connections[0]!.toFlv())
  await runFfmpeg('-i', received, '-vf', 'crop=iw:ih/2:0:0', top)
  // Rotated clockwise, the white left half is at the top.
  expect(Math.min(...(await brightnessOf(top)))).toBeGreaterThan(200)
})

test('reports the keyframe at which a file starts, also after a seek', async () => {
  const { id } = await streamTo()
  const items = [{ assetId: assets['second'] }, { assetId: assets['second'] }]
  expect(await broadcast(id, { items, startAt: 1.3 })).toMatchObject({
    items: [{ startSeconds: null }, { startSeconds: null }],
  })
  // Keyframes are half a second apart.
  const started = await until(id, (seen) => seen.items[0]?.startSeconds !== null, 'the start position')
  expect(started.items.map(({ startSeconds }) => startSeconds)).toEqual([1, null])
  await change(id, { item: 1, position: 2.4 })
  const moved = await until(id, (seen) => seen.items[1]?.startSeconds !== null, 'the position after the seek')
  expect(moved.items.map(({ startSeconds }) => startSeconds)).toEqual([1, 2])
  await caster.stop(id)
})

test('a cancelled broadcast stops its conversion, and a scheduled one converts its file in advance', async () => {
  const assetId = await upload('odd.mp4')
  const { id } = await streamTo()
  expect(await broadcast(id, { assetId })).toMatchObject({ status: 'preparing' })
  await caster.call('DELETE /api/streams/{id}/broadcast', { path: { id } })
  expect(await current(id)).toMatchObject({ status: 'stopped', preparation: null })
  expect(await renditions(assetId)).toEqual([])

  const scheduledFor = new Date(clock.now() + HOUR).toISOString()
  expect(await broadcast(id, { assetId, scheduledFor })).toMatchObject({
    status: 'scheduled',
    preparation: { readyCount: 0 },
  })
  const made = await until(id, ({ preparation }) => preparation?.readyCount === 1, 'the conversion to finish')
  expect(made).toMatchObject({ status: 'scheduled', preparation: { fileCount: 1, progress: 100 } })
  // The broadcast fails when its rendition is deleted.
  const [rendition] = await renditions(assetId)
  const query = { rendition: rendition?._id ?? '' }
  await caster.call('DELETE /api/assets/{id}', { path: { id: assetId }, query })
  expect(await current(id)).toMatchObject({
    status: 'failed',
    error: 'The rendition for the broadcast was deleted.',
  })

  const { items } = await broadcast(id, { items: [{ assetId }, { assetId: assets['first'] }] })
  const failure = { id: items[0]?.renditionId ?? '', error: 'No encoder took it.' }
  await app.composition.turns.system(workspaceId, recordRendition, failure)
  const playing = await until(id, ({ status }) => status !== 'preparing', 'the broadcast to start')
  expect(playing).toMatchObject({
    status: 'playing',
    items: [{ error: 'The file could not be converted for live platforms: No encoder took it.' }, { error: null }],
  })
  await caster.until(id, 'live')
  await until(id, ({ item }) => item === 1, 'the other file to play')
  expect((await current(id)).items[0]?.error).toContain('No encoder took it.')
  await caster.stop(id)
})

test('can be paused, resumed, moved and extended, and continues after a crash of the media process', async () => {
  const { id, sink } = await streamTo()
  const items = [{ assetId: assets['first'] }, { assetId: assets['second'] }]
  await broadcast(id, { items, loop: true })
  await caster.until(id, 'live')
  expect(await change(id, { paused: true })).toMatchObject({ status: 'paused' })
  const paused = await waitFor(async () => {
    const { ingest } = await caster.call<{ ingest: { source: string } | null }>('GET /api/streams/{id}/relay', {
      path: { id },
    })
    const [last, before] = videoFrames(sink).toReversed()
    return ingest !== null && last !== undefined && last.checksum === before?.checksum ? ingest : undefined
  })
  expect(paused.source).toBe('file')
  expect(
    await change(id, { paused: false, next: true, position: 0.5, add: [{ assetId: assets['first'] }] }),
  ).toMatchObject({
    status: 'playing',
    item: 1,
    position: 0.5,
    items: [{}, {}, {}],
  })
  await until(id, ({ item, position }) => item === 1 && position > 1.6, 'the second file to play')
  const count = videoFrames(sink).length
  process.kill(app.node.media?.pid() ?? 0, 'SIGKILL')
  await waitFor(() => sink.connections.length > 1 && videoFrames(sink).length > count + 10)
  // It continues from the last keyframe before the reported position, not from the position of the command (0.5 s).
  const flv = join(folder, 'second.flv')
  await runFfmpeg('-i', join(folder, 'second.mp4'), '-c', 'copy', '-f', 'flv', flv)
  const frames = readTags(readFileSync(flv)).filter(({ payload, type }) => type === 9 && payload[1] === 1)
  const resumed = sink.connections[1]?.of('video').find(({ isSequenceHeader }) => !isSequenceHeader)
  const index = frames.findIndex(({ payload }) => crc32(payload) === resumed?.checksum)
  expect(index).toBeGreaterThanOrEqual(30)
  expect(sink.connections.length).toBe(2)
  expect(await caster.stop(id)).toMatchObject({ status: 'ended', endReason: 'stopped' })
  expect(await current(id)).toMatchObject({ status: 'stopped' })
})

test('a scheduled broadcast starts once at its time, and continues after a restart', async () => {
  const { id, sink } = await streamTo()
  const scheduledFor = new Date(clock.now() + HOUR).toISOString()
  const items = Array.from({ length: 20 }, () => ({ assetId: assets['second'] }))
  const { _id } = await broadcast(id, { items, scheduledFor })
  expect(await caster.get(id)).toMatchObject({ status: 'idle', scheduledFor })
  clock.ahead += HOUR
  app.composition.jobs.wake()
  await caster.until(id, 'live')
  await app.composition.turns.system(workspaceId, startBroadcast, { broadcastId: _id })
  expect(await current(id)).toMatchObject({ _id, status: 'playing' })
  await until(id, ({ item, position }) => item === 0 && position > 1, 'one second of playback')
  await app.stop()
  const before = videoFrames(sink).length
  app = await start()
  caller = new ApiCaller(app, { apiKey })
  caster = new Broadcaster(app, caller, workspaceId)
  await waitFor(() => videoFrames(sink).length > before + 10)
  expect(
    sink.connections
      .at(-1)
      ?.of('video')
      .find(({ isSequenceHeader }) => !isSequenceHeader)?.checksum,
  ).not.toBe(videoFrames(sink)[0]?.checksum)
  await caster.call('DELETE /api/streams/{id}/broadcast', { path: { id } })
  await caster.until(id, 'interrupted')
  expect(await current(id)).toMatchObject({ status: 'stopped' })
  await caster.stop(id)
})
