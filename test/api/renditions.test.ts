import { readFile } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { makeHeic } from '../../media/testing/heic-file.ts'
import { processesOn } from '../../media/testing/work-fixture.ts'
import { startApp, type App } from '../support/app.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The API of renditions. */

const LONG = { timeoutMs: 90_000 }
let app: App
let world: World
let listener: Listening
const sockets = new Sockets(() => app)

beforeAll(async () => {
  app = await startApp({ jobTimes: { schedulesAfterMs: 600_000 } })
  world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  listener = await sockets.connect(world.key('ada'))
  const path = (name: string) => join(app.dataDir, name)
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=10:duration=3']
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=3']
  const coded = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4']
  await runFfmpeg(...picture, ...tone, ...coded, path('clip'))
  await runFfmpeg('-f', 'lavfi', '-i', 'testsrc=size=64x44:rate=10:duration=1', '-f', 'gif', path('gif'))
  // A video of 90 seconds that takes long to encode: three seconds, repeated thirty times.
  const moving = ['-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=25:duration=3', '-c:v', 'libx264']
  await runFfmpeg(...moving, '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-f', 'mp4', path('part'))
  await runFfmpeg('-stream_loop', '29', '-i', path('part'), '-c', 'copy', '-f', 'mp4', path('long'))
})
afterAll(async () => {
  sockets.end()
  await app?.stop()
})

async function add(content: Uint8Array, name: string, workspace = 'acme') {
  const body = { workspaceId: world.id(workspace) }
  const file = { name, content: new Uint8Array(content) }
  const reply = await world.as('ada').call('POST /api/assets/upload', { body, file })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

const addFile = async (name: string, as: string) => add(await readFile(join(app.dataDir, name)), as)
const request = (id: string, body: object, as = 'ada') =>
  world.as(as).call('POST /api/assets/{id}/renditions', { path: { id }, body })
const asset = async (id: string) => (await world.as('ada').call('GET /api/assets/{id}', { path: { id } })).body.data

async function requested(id: string, body: object) {
  const reply = await request(id, body)
  expect(reply.status, reply.text).toBe(202)
  return reply.body.data
}

/** Waits until a rendition is ready or has failed. */
function ended(assetId: string, id: string) {
  return waitFor(
    async () => {
      const { renditions } = await asset(assetId)
      const found = renditions.find((one: { _id: string; status: string }) => one._id === id)
      return found?.status === 'pending' ? undefined : found
    },
    { ...LONG, what: 'a rendition' },
  )
}

async function usage() {
  const { body } = await world.as('ada').call('GET /api/assets/storage', { query: { workspaceId: world.id('acme') } })
  return body.data
}

const ffmpegs = () => processesOn(join(app.dataDir, 'storage')).length
const download = (path: string, headers: object = {}) =>
  fetch(app.url + path, { headers: { 'X-API-Key': world.key('ada'), ...headers } })

test('makes a rendition once, reports progress on sockets, and counts it against the plan', async () => {
  const { _id: id } = await addFile('clip', 'clip.mp4')
  const before = await usage()
  const settings = { preset: 'vertical', trim: { from: 1, to: 2 }, crf: 35 }
  const pending = await requested(id, settings)
  expect(pending).toMatchObject({ assetId: id, name: 'vertical', status: 'pending', url: null, progress: 0 })
  // Equivalent settings, requested twice at the same time.
  const again = await Promise.all([requested(id, { ...settings, codec: 'h264' }), requested(id, settings)])
  for (const one of again) expect([one._id, one.jobId]).toEqual([pending._id, pending.jobId])
  const made = await ended(id, pending._id)
  expect(made).toMatchObject({
    status: 'ready',
    progress: 100,
    type: 'video/mp4',
    width: 50,
    height: 90,
    error: null,
  })
  expect(made.duration).toBeCloseTo(1, 0)
  const eventsNamed = (name: string) => listener.events.filter((one) => one.name === name)
  await waitFor(() => eventsNamed('job.finished').some(({ data }) => data.jobId === pending.jobId), LONG)
  const steps = eventsNamed('job.progress').filter(({ data }) => data.jobId === pending.jobId)
  expect(steps.length).toBeGreaterThan(0)
  expect(steps[0]?.data).toMatchObject({ name: 'assets.transcode', detail: pending._id })
  const states = eventsNamed('rendition.updated').filter(({ data }) => data.data._id === pending._id)
  expect(states.map(({ data }) => data.data.status)).toEqual(['pending', 'ready'])

  const after = await usage()
  expect(after.byKind.renditions - before.byKind.renditions).toBe(made.size)
  expect(after.quota).toMatchObject({ used: before.quota.used + made.size, held: 0 })
  const part = await download(made.url, { Range: 'bytes=4-7' })
  expect([part.status, await part.text(), part.headers.get('content-type')]).toEqual([206, 'ftyp', 'video/mp4'])
  expect(part.headers.get('content-disposition')).toContain('clip.vertical.mp4')
  expect(readdirSync(join(app.dataDir, 'work')).filter((name) => name.startsWith('rendition-'))).toEqual([])

  const third = await requested(id, settings)
  expect(third).toMatchObject({ _id: pending._id, status: 'ready' })
  const other = await requested(id, { ...settings, crf: 36 })
  expect(other._id).not.toBe(pending._id)
  const path = { id }
  const gone = await world.as('ada').call('DELETE /api/assets/{id}', { path, query: { rendition: pending._id } })
  expect(gone.status).toBe(200)
  expect((await download(made.url)).status).toBe(404)
  expect((await asset(id)).renditions.map((one: { _id: string }) => one._id)).toEqual([other._id])
  await ended(id, other._id)
})

test.each([
  ['a GIF', 'a.gif', {}, { type: 'video/mp4', width: 64, height: 44 }],
  ['a WebP', 'a.webp', {}, { type: 'image/jpeg', width: 90, height: 30 }],
  ['a HEIC', 'a.heic', { crop: '1:1' }, { type: 'image/jpeg', width: 40, height: 40 }],
  ['audio of a video', 'a.mp4', { codec: 'mp3', trim: { to: 1 } }, { type: 'audio/mpeg', width: null }],
])('makes the requested format: %s', async (_what, name, settings, expected) => {
  const path = join(app.dataDir, name)
  const sources: Record<string, () => Promise<Uint8Array>> = {
    'a.gif': () => readFile(join(app.dataDir, 'gif')),
    'a.mp4': () => readFile(join(app.dataDir, 'clip')),
    'a.webp': () =>
      sharp({ create: { width: 90, height: 30, channels: 3, background: '#0a0' } })
        .webp()
        .toBuffer(),
    'a.heic': async () => {
      await makeHeic(path, 'color=0x00ff00:s=60x40', { width: 60, height: 40 })
      return readFile(path)
    },
  }
  const { _id: id } = await add((await sources[name]?.()) ?? new Uint8Array(), name)
  // Wait for the examination, because the job uses its result.
  await waitFor(async () => (await asset(id)).thumbnail.status !== 'pending', LONG)
  const made = await ended(id, (await requested(id, settings))._id)
  expect(made).toMatchObject({ status: 'ready', name: 'custom', ...expected })
})

describe('refuses', () => {
  test('impossible settings before the job starts', async () => {
    const { _id: id } = await addFile('clip', 'other.mp4')
    // Wait for the examination, because its result decides which settings are possible.
    await waitFor(async () => (await asset(id)).duration !== null, LONG)
    for (const [body, message] of [
      [{ trim: { from: 9 } }, /starts at 9 s, but the file is 3\.\d s long/],
      [{ preset: 'pinterest' }, /pinterest requires at least 4 s/],
      [{ codec: 'png' }, /use its thumbnails/],
      [{ quality: 3 }, /`quality` does not apply to a video/],
    ] as const) {
      const reply = await request(id, body)
      expect([reply.status, reply.body.code, reply.body.message]).toEqual([
        400,
        'rendition_not_possible',
        expect.stringMatching(message),
      ])
    }
    const unknown = await request(id, { preset: 'myspace' })
    expect([unknown.status, unknown.body.errors[0].path]).toEqual([400, '/body/preset'])
    expect((await asset(id)).renditions).toEqual([])
  })

  test('settings that only the media job finds impossible, with the reason in the rendition', async () => {
    const { _id: id } = await addFile('clip', 'third.mp4')
    const made = await ended(id, (await requested(id, { maxBytes: 10_000 }))._id)
    expect(made).toMatchObject({ status: 'failed', error: expect.stringContaining('cannot fit in'), url: null })
    // Another request starts a new job.
    const again = await requested(id, { maxBytes: 10_000 })
    expect(again).toMatchObject({ _id: made._id, status: 'pending', error: null })
    expect(again.jobId).not.toBe(made.jobId)
    await ended(id, made._id)
  })

  test('renditions that exceed the storage limit, before or after they are made', async () => {
    const { _id: id } = await addFile('clip', 'fourth.mp4')
    const { quota } = await usage()
    const reserve = (bytes: number) =>
      app.database.row<{ id: string }>(
        `insert into storage_reservations (id, workspace_id, bytes, expires_at)
         values (gen_random_uuid(), $1, $2, now() + interval '1 hour') returning id`,
        [world.id('acme'), bytes],
      )
    await reserve(quota.left - 1_000)
    const files = () => readdirSync(join(app.dataDir, 'storage', 'files'), { recursive: true }).length
    const before = files()
    const made = await ended(id, (await requested(id, { crop: '1:1', loudness: null }))._id)
    expect(made).toMatchObject({ status: 'failed', error: expect.stringMatching(/plan has 1000 of \d+ bytes left/) })
    expect(files()).toBe(before)
    await reserve(1_000)
    const refused = await request(id, { crop: '4:5' })
    expect([refused.status, refused.body.code]).toEqual([413, 'storage_limit_reached'])
    await app.database.run('delete from storage_reservations')
  })
})

test('deleting a rendition or its asset stops ffmpeg and deletes the output', async () => {
  const { _id: id } = await addFile('long', 'long.mp4')
  const start = async () => {
    const rendition = await requested(id, { crf: 10 })
    await waitFor(() => ffmpegs() > 0, { ...LONG, what: 'ffmpeg to run' })
    return rendition._id as string
  }
  const expectStopped = async (renditionId: string) => {
    await waitFor(() => ffmpegs() === 0, { ...LONG, what: 'ffmpeg to stop' })
    await waitFor(() => app.node.jobs?.running === 0, LONG)
    expect(readdirSync(join(app.dataDir, 'work')).filter((name) => name.startsWith('rendition-'))).toEqual([])
    expect(await app.database.rows('select 1 from asset_renditions where id = $1', [renditionId])).toEqual([])
    expect((await usage()).quota.held).toBe(0)
  }
  await waitFor(async () => (await asset(id)).thumbnail.status === 'ready', LONG)
  const remove = (query: object) =>
    world.as('ada').call('DELETE /api/assets/{id}', { path: { id }, query: { ...query } })
  const rendition = await start()
  // Thumbnails do not wait for the rendition.
  const background = { r: 1, g: 2, b: 3 }
  const small = await sharp({ create: { width: 40, height: 40, channels: 3, background } })
    .png()
    .toBuffer()
  const { _id: pictureId } = await add(small, 'small.png')
  await waitFor(async () => (await asset(pictureId)).thumbnail.status === 'ready', LONG)
  await waitFor(() => ffmpegs() > 0, { ...LONG, what: 'ffmpeg to keep running' })
  expect((await remove({ rendition })).status).toBe(200)
  await expectStopped(rendition)
  await waitFor(() => listener.events.some(({ name }) => name === 'rendition.deleted'))
  expect((await remove({ rendition })).status).toBe(404)
  const another = await start()
  expect(another).not.toBe(rendition)
  expect((await remove({})).status).toBe(200)
  await expectStopped(another)
})

test('a rendition whose job was lost fails, and can be requested again', async () => {
  const { _id: id } = await addFile('clip', 'fifth.mp4')
  const { _id: renditionId } = await requested(id, { mute: true, crf: 40 })
  await ended(id, renditionId)
  await app.database.run(`update asset_renditions set state = 'pending', job_id = gen_random_uuid() where id = $1`, [
    renditionId,
  ])
  await app.composition.services.assets.renditionMaker.failAbandoned()
  expect(await ended(id, renditionId)).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('lost several times or removed'),
  })
  await requested(id, { mute: true, crf: 40 })
  expect(await ended(id, renditionId)).toMatchObject({ status: 'ready', error: null })
})

test('a file whose job was removed before its examination fails', async () => {
  const { _id: id } = await addFile('gif', 'removed.gif')
  await waitFor(async () => (await asset(id)).thumbnail.status === 'ready', LONG)
  const { examiner } = app.composition.services.assets
  await examiner.failAbandoned()
  expect((await asset(id)).thumbnail).toMatchObject({ status: 'ready' })
  await app.database.run(
    `update asset_files set thumbnail_state = 'pending' where id = (select file_id from assets where id = $1)`,
    [id],
  )
  await examiner.failAbandoned()
  expect((await asset(id)).thumbnail).toMatchObject({
    status: 'failed',
    error: expect.stringContaining('lost several times or removed'),
  })
})

test('the readiness report includes media work', async () => {
  const report = (await (await fetch(`${app.node.adminUrl}/ready`)).json()) as { checks: Record<string, unknown> }
  const details = { freeBytes: expect.any(Number), longRunning: 0, quickQueued: 0, deaths: 0 }
  expect(report.checks['mediaWork']).toMatchObject({ ok: true, details })
})
