import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StreamStatus } from '../../media/types.ts'
import { ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { expireStream, observeStream, reportDiagnosis } from '../../src/domains/live/streams/turns.ts'
import { sha256 } from '../../src/tools/id.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
import { World, type ApiCaller } from '../support/world.ts'

let app: App
let world: World
let ada: ApiCaller
let workspaceId: string

/** A media node without a media process, for operations that only need one to be present. */
const NODE = '01939c5e-7a3b-7c21-9f58-0000000000aa'
const announce = (streams: readonly StreamStatus[] = []) =>
  app.composition.services.mediaNodes.directory.announce({
    nodeId: NODE,
    status: {
      rtmpPort: 1935,
      rtmpsPort: null,
      previewPort: null,
      cpu: 0,
      uptimeSeconds: 1,
      connections: 0,
      renderings: { running: 0, max: 8 },
      whip: null,
      streams,
    },
  })
const RELAYED = {
  path: 'path',
  live: true,
  standby: null,
  destinations: [],
  playout: null,
  recording: null,
  slate: null,
  liveMs: 0,
  viewers: 0,
}
const INGESTED = {
  sessionId: '01939c5e-7a3b-7c21-9f58-0000000000bb',
  since: '2026-11-21T10:00:00.000Z',
  source: 'primary',
  remoteAddress: '127.0.0.1',
  videoCodec: 'h264',
  audioCodec: null,
  width: 640,
  height: 360,
  fps: 30,
  bitrate: 1_000_000,
  bytesReceived: 1_000,
  keyframeIntervalSeconds: 2,
  uptimeSeconds: 1,
} as const

beforeAll(async () => {
  app = await startApp({ clock: new ManualClock(Date.parse('2026-11-21T10:00:00Z')) })
  world = new World(app)
})
afterAll(() => app?.stop())

let round = 0
beforeEach(async () => {
  round += 1
  workspaceId = await world.workspace(`acme ${round}`, `ada-${round}`)
  await world.member(`acme ${round}`, 'reader', { scopes: ['streams:read'] })
  ada = world.as(`ada-${round}`)
})

// oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
async function dataOf(reply: Promise<{ status: number; body: any; text: string }>): Promise<any> {
  const { status, body, text } = await reply
  expect(status, text).toBeLessThan(300)
  return body.data
}

async function destination(name = 'our server', extra: object = {}): Promise<{ _id: string }> {
  const body = {
    workspaceId,
    name,
    url: 'rtmps://live.example.com/app',
    streamKey: 'a-secret-of-theirs-1a2b',
    ...extra,
  }
  return dataOf(ada.call('POST /api/streams/rtmp-destinations', { body }))
}

async function stream(extra: object = {}) {
  return dataOf(ada.call('POST /api/streams', { body: { workspaceId, title: 'Launch', ...extra } }))
}

const to = (...ids: { _id: string }[]) => ids.map(({ _id }) => ({ platform: 'custom', accountId: _id }))
const at = (id: string) => ({ path: { id } })

describe('the keys of a stream', () => {
  const keysOf = (id: string) => ada.call('POST /api/streams/{id}/keys', at(id))
  const mayPublish = async (keys: { streamKey: string; whipToken: string }, via?: 'whip') => {
    const keyHash = sha256(via === 'whip' ? keys.whipToken : keys.streamKey)
    const request = { path: keys.streamKey.split('-')[0] ?? '', keyHash, remoteAddress: '192.0.2.1' }
    return (
      await app.composition.services.mediaLink.desiredStates.authorize(
        via === undefined ? request : { ...request, via },
      )
    ).allowed
  }

  test('are shown without a change: they stay, and a publisher stays connected', async () => {
    const { _id, streamKey, version } = await stream()
    await app.database.rows("update streams set status = 'receiving', ingest_id = id, ingest_node = id where id = $1", [
      _id,
    ])
    const reply = await keysOf(_id)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    const first = reply.body.data
    expect(first.streamKey).toBe(streamKey)
    expect((await keysOf(_id)).body.data).toEqual(first)
    expect(
      await app.database.row('select status, version, ingest_id as "ingestId" from streams where id = $1', [_id]),
    ).toEqual({
      status: 'receiving',
      version,
      ingestId: _id,
    })
    expect([await mayPublish(first), await mayPublish(first, 'whip')]).toEqual([true, true])
  })

  test('are those of the last arming, which replaces them', async () => {
    const { _id } = await stream()
    const before = (await keysOf(_id)).body.data
    const armed = await dataOf(ada.call('POST /api/streams/{id}/arm', at(_id)))
    expect((await keysOf(_id)).body.data).toEqual(armed)
    expect([await mayPublish(before), await mayPublish(before, 'whip')]).toEqual([false, false])
    expect([await mayPublish(armed), await mayPublish(armed, 'whip')]).toEqual([true, true])
  })

  test('are secrets: for those who manage streams, in the audit log by name and not by value', async () => {
    const { _id } = await stream()
    const keys = (await keysOf(_id)).body.data
    const refused = await world.as('reader').call('POST /api/streams/{id}/keys', at(_id))
    expect([refused.status, refused.text.includes(keys.whipToken)]).toEqual([403, false])
    const audit = await app.database.rows<{ action: string }>('select * from audit_log where workspace_id = $1', [
      workspaceId,
    ])
    expect(audit.filter((entry) => entry.action === 'getStreamKeys')).toHaveLength(1)
    const everything = JSON.stringify([
      audit,
      app.logs,
      await app.database.rows('select * from workspace_events'),
      await app.database.rows('select * from streams'),
    ])
    for (const secret of [keys.streamKey, keys.backupStreamKey, keys.whipToken])
      expect(everything).not.toContain(secret)
  })

  test('of an ended stream are not shown', async () => {
    const { _id } = await stream()
    await app.database.rows("update streams set status = 'ended' where id = $1", [_id])
    const reply = await keysOf(_id)
    expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining('/arm')])
  })
})

describe('a stream', () => {
  test('is created with the server and key for OBS, and reads back the same', async () => {
    const one = await destination('one')
    const created = await stream({
      description: 'What is new',
      platforms: to(one),
      scheduledFor: '2026-12-01T18:00:00+01:00',
      record: true,
    })
    expect(created).toEqual({
      _id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      workspaceId,
      title: 'Launch',
      description: 'What is new',
      status: 'idle',
      endReason: null,
      unconfirmedSince: null,
      statusSince: '2026-11-21T10:00:00.000Z',
      rtmpIngestUrl: app.config.PUBLIC_RTMP_URL,
      streamKey: expect.stringMatching(/^[0-9a-f]{16}-[0-9a-f]{32}$/),
      backupStreamKey: expect.stringMatching(/^[0-9a-f]{16}b-[0-9a-f]{32}$/),
      streamKeyExpiresAt: '2026-12-31T17:00:00.000Z',
      slate: { mode: 'off', assetId: null },
      holdSeconds: 60,
      inputPreference: 'primary',
      inputSelected: null,
      recordGaps: 'cut',
      platforms: [
        {
          _id: expect.any(String),
          platform: 'custom',
          accountId: one._id,
          name: 'one',
          enabled: true,
          status: 'idle',
          since: '2026-11-21T10:00:00.000Z',
          lastError: null,
          rendering: null,
        },
      ],
      scheduledFor: '2026-12-01T17:00:00.000Z',
      liveAt: null,
      record: true,
      profile: 'source',
      version: 1,
      createdAt: '2026-11-21T10:00:00.000Z',
      updatedAt: '2026-11-21T10:00:00.000Z',
    })
    expect(await dataOf(ada.call('GET /api/streams/{id}', at(created._id)))).toEqual(created)
    const { streamKey: _key, backupStreamKey: _backup, streamKeyExpiresAt: _expiry, ...listed } = created
    expect(await dataOf(ada.call('GET /api/streams', { query: { workspaceId } }))).toEqual([listed])
  })

  test('needs only a title', async () => {
    expect(await stream()).toMatchObject({ description: '', platforms: [], scheduledFor: null, record: false })
  })

  test('shows its key only to members who can manage streams', async () => {
    const { _id, backupStreamKey, streamKey } = await stream()
    const reader = world.as('reader')
    const single = await reader.call('GET /api/streams/{id}', at(_id))
    const list = await reader.call('GET /api/streams', { query: { workspaceId } })
    const relay = await reader.call('GET /api/streams/{id}/relay', at(_id))
    for (const reply of [single, list, relay]) {
      expect(reply.status).toBe(200)
      for (const key of [streamKey, backupStreamKey]) expect(reply.text).not.toContain(key.split('-')[1])
      expect(reply.text).not.toContain('streamKey')
    }
  })

  test.each([
    [{ platforms: [{ platform: 'youtube', accountId: NODE }] }, '/body/platforms/0/accountId', /no RTMP destination/],
    [{ platforms: [{ platform: 'custom', accountId: NODE }] }, '/body/platforms/0/accountId', /no RTMP destination/],
    [{ scheduledFor: 'tomorrow' }, '/body/scheduledFor', /date/],
    [{ scheduledFor: '2026-02-30T10:00:00Z' }, '/body/scheduledFor', /date/],
    [{ title: ' ' }, '/body/title', /empty/],
    [{ title: 'x'.repeat(201) }, '/body/title', /200/],
    [{ profile: 'vertical' }, '/body/profile', /source/],
  ])('is refused with %j', async (extra, path, message) => {
    const reply = await ada.call('POST /api/streams', { body: { workspaceId, title: 'Launch', ...extra } })
    expect(reply.status).toBe(400)
    expect(reply.body.errors).toEqual([{ path, code: expect.any(String), message: expect.stringMatching(message) }])
    expect(reply.body.message).toBe(
      `The field ${path.slice('/body/'.length).replaceAll('/', '.')} ${reply.body.errors[0].message}.`,
    )
  })

  test('refuses a destination of another workspace, and a duplicate', async () => {
    const one = await destination()
    const other = await world.workspace(`other ${round}`, `ada-${round}`)
    const foreign = await ada.call('POST /api/streams', {
      body: { workspaceId: other, title: 'x', platforms: to(one) },
    })
    expect(foreign.status).toBe(400)
    const twice = await ada.call('POST /api/streams', { body: { workspaceId, title: 'x', platforms: to(one, one) } })
    expect(twice.body.errors).toMatchObject([{ path: '/body/platforms/1/accountId', code: 'duplicate' }])
  })

  test('has at most as many destinations as the plan allows', async () => {
    const eleven: Awaited<ReturnType<typeof destination>>[] = []
    for (let count = 1; count <= 11; count += 1) eleven.push(await destination(String(count)))
    const refused = await ada.call('POST /api/streams', { body: { workspaceId, title: 'x', platforms: to(...eleven) } })
    expect(refused.status).toBe(402)
    expect(refused.body.details).toEqual({
      limit: 'streamDestinations',
      value: 10,
      used: 11,
      plan: 'free',
      nextPlan: 'starter',
      isTrial: false,
    })
    const { _id } = await stream({ platforms: to(...eleven.slice(0, 10)) })
    const body = { title: 'x', platforms: to(...eleven) }
    expect((await ada.call('PUT /api/streams/{id}', { ...at(_id), body })).status).toBe(402)
    await app.composition.services.plans.change(world.id(`ada-${round}`), 'pro')
    expect((await ada.call('PUT /api/streams/{id}', { ...at(_id), body })).status).toBe(200)
  })
})

describe('a slate', () => {
  const put = (id: string, extra: object) =>
    ada.call('PUT /api/streams/{id}', { ...at(id), body: { title: 'Launch', ...extra } })
  const desired = async (id: string) => (await app.composition.services.mediaLink.desiredStates.of(id))?.slate

  async function picture(workspace = workspaceId): Promise<string> {
    const file = { name: 'picture.png', content: PIXEL }
    const { _id } = await dataOf(ada.call('POST /api/assets/upload', { body: { workspaceId: workspace }, file }))
    await mark(_id, 'image', 'ready')
    return _id
  }

  /** The result of examining the file. */
  async function mark(assetId: string, kind: string, state: string): Promise<void> {
    await app.database.run(
      'update asset_files set kind = $2, thumbnail_state = $3 where id = (select file_id from assets where id = $1)',
      [assetId, kind, state],
    )
  }

  test('is off, the card, or a picture, and falls back to the card when the picture is deleted', async () => {
    const before = await stream()
    expect(before).toMatchObject({ slate: { mode: 'off', assetId: null }, holdSeconds: 60 })
    expect(await desired(before._id)).toBeUndefined()
    const { _id, slate } = await stream({ slate: { mode: 'card' } })
    expect(slate).toEqual({ mode: 'card', assetId: null })
    expect(await desired(_id)).toEqual({ key: null })
    const assetId = await picture()
    const shown = await dataOf(put(_id, { slate: { mode: 'asset', assetId }, holdSeconds: 0 }))
    expect(shown).toMatchObject({ slate: { mode: 'asset', assetId }, holdSeconds: 0 })
    expect(await dataOf(put(_id, {}))).toMatchObject({ slate: { mode: 'asset', assetId }, holdSeconds: 0 })
    expect(await desired(_id)).toEqual({ key: expect.stringContaining(workspaceId) })
    const { usedIn } = await dataOf(ada.call('GET /api/assets/{id}', at(assetId)))
    expect(usedIn).toEqual([{ kind: 'stream', _id, title: 'Launch', scheduled: false, versionNumbers: null }])
    await dataOf(ada.call('DELETE /api/assets/{id}', at(assetId)))
    expect(await desired(_id)).toEqual({ key: null })
    expect(await dataOf(put(_id, { slate: { mode: 'off' } }))).toMatchObject({ slate: { mode: 'off', assetId: null } })
    expect(await desired(_id)).toBeUndefined()
  })

  test('accepts only an intact picture of its own workspace', async () => {
    const { _id } = await stream()
    const refused = async (slate: object, status: number, message: RegExp) =>
      expect(await put(_id, { slate })).toMatchObject({ status, body: { message: expect.stringMatching(message) } })
    await refused({ mode: 'asset' }, 400, /is needed/)
    await refused({ mode: 'card', assetId: NODE }, 400, /goes with mode asset/)
    await refused({ mode: 'asset', assetId: NODE }, 400, /no asset of this workspace/)
    const foreign = await picture(await world.workspace(`foreign ${round}`, `ada-${round}`))
    await refused({ mode: 'asset', assetId: foreign }, 400, /no asset of this workspace/)
    const assetId = await picture()
    await mark(assetId, 'image', 'pending')
    await refused({ mode: 'asset', assetId }, 409, /still being processed/)
    await mark(assetId, 'image', 'failed')
    await refused({ mode: 'asset', assetId }, 400, /cannot be shown/)
    await mark(assetId, 'video', 'ready')
    await refused({ mode: 'asset', assetId }, 400, /must be an image/)
    expect((await put(_id, { holdSeconds: 301 })).status).toBe(400)
  })
})

describe('an edit', () => {
  test('changes the given fields, keeps the others, and does not touch destinations that stay', async () => {
    const [one, two, three] = [await destination('one'), await destination('two'), await destination('three')]
    const before = await stream({ description: 'kept', scheduledFor: '2026-12-01T18:00:00Z', platforms: to(one, two) })
    const body = { title: 'Other', platforms: to(three, two) }
    const after = await dataOf(ada.call('PUT /api/streams/{id}', { ...at(before._id), body }))
    expect(after).toMatchObject({ title: 'Other', description: 'kept', scheduledFor: before.scheduledFor, version: 2 })
    expect(after.streamKey).toBe(before.streamKey)
    expect(after.platforms.map((platform: { name: string }) => platform.name)).toEqual(['two', 'three'])
    expect(after.platforms[0]).toEqual(before.platforms[1])
    const cleared = await dataOf(
      ada.call('PUT /api/streams/{id}', { ...at(before._id), body: { title: 'Other', scheduledFor: null } }),
    )
    expect(cleared).toMatchObject({ scheduledFor: null, version: 3 })
    expect(cleared.platforms).toHaveLength(2)
  })

  test('honors If-Match', async () => {
    const { _id } = await stream()
    const got = await ada.call('GET /api/streams/{id}', at(_id))
    expect(got.headers.get('etag')).toBe('"1"')
    const edit = (tag: string) =>
      ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'New' }, headers: { 'If-Match': tag } })
    expect((await edit('"1"')).headers.get('etag')).toBe('"2"')
    expect((await edit('"1"')).status).toBe(412)
    expect((await ada.call('DELETE /api/streams/{id}', { ...at(_id), headers: { 'If-Match': '"1"' } })).status).toBe(
      412,
    )
    expect((await ada.call('DELETE /api/streams/{id}', { ...at(_id), headers: { 'If-Match': '"2"' } })).status).toBe(
      200,
    )
    expect((await ada.call('GET /api/streams/{id}', at(_id))).status).toBe(404)
  })
})

test('lists streams newest first by status and time, with pages that are stable under inserts', async () => {
  const clock = app.node.resources.clock as ManualClock
  const ids: string[] = []
  for (let index = 0; index < 5; index += 1) {
    clock.advance(index === 3 ? 60_000 : 0)
    ids.unshift((await stream({ title: `stream ${index}` }))._id)
  }
  const page = (query: object) => ada.call('GET /api/streams', { query: { workspaceId, limit: 2, ...query } })
  const first = await page({})
  expect(first.body.pagination).toMatchObject({ limit: 2, hasMore: true })
  await stream({ title: 'later' })
  const second = await page({ cursor: first.body.pagination.nextCursor })
  const third = await page({ cursor: second.body.pagination.nextCursor })
  const seen = [first, second, third].flatMap(({ body }) => body.data.map(({ _id }: { _id: string }) => _id))
  expect(seen).toEqual(ids)
  expect(third.body.pagination).toEqual({ limit: 2, hasMore: false, nextCursor: null })
  const boundary = new Date(clock.now()).toISOString()
  expect((await page({ to: boundary, limit: 10 })).body.data).toHaveLength(3)
  expect((await page({ from: boundary, limit: 10 })).body.data).toHaveLength(3)
  announce()
  await destination().then((one) =>
    ada.call('PUT /api/streams/{id}', { ...at(ids[4] ?? ''), body: { title: 'x', platforms: to(one) } }),
  )
  await dataOf(ada.call('POST /api/streams/{id}/go-live', { ...at(ids[4] ?? ''), body: { waitForIngest: true } }))
  expect((await page({ status: 'starting' })).body.data.map(({ _id }: { _id: string }) => _id)).toEqual([ids[4]])
  const idle = await page({ status: 'idle' })
  const moreIdle = await page({ status: 'idle', cursor: idle.body.pagination.nextCursor, limit: 10 })
  expect([...idle.body.data, ...moreIdle.body.data]).toHaveLength(5)
  expect((await page({ cursor: 'nonsense' })).status).toBe(400)
  expect((await page({ from: 'nonsense' })).status).toBe(400)
})

describe('custom RTMP destinations', () => {
  test('mask their key and store it encrypted', async () => {
    const { _id } = await destination('one', { streamKey: 'live_1234567890_abcdefgh?region=eu' })
    const list = await ada.call('GET /api/streams/rtmp-destinations', { query: { workspaceId } })
    expect(list.body.data).toMatchObject([
      { _id, name: 'one', url: 'rtmps://live.example.com/app', streamKey: '••••efgh' },
    ])
    const row = await app.database.row('select * from rtmp_destinations where id = $1', [_id])
    expect(JSON.stringify(row)).not.toContain('live_1234')
    await destination('two', { streamKey: 'short' })
    const again = await ada.call('GET /api/streams/rtmp-destinations', { query: { workspaceId, limit: 1 } })
    expect(again.body.data).toMatchObject([{ name: 'two', streamKey: '••••' }])
    const next = { workspaceId, cursor: again.body.pagination.nextCursor }
    const last = await ada.call('GET /api/streams/rtmp-destinations', { query: next })
    expect(last.body.data).toMatchObject([{ name: 'one' }])
  })

  test.each([
    ['http://live.example.com/app', /rtmp/],
    ['rtmp://user:pass@live.example.com/app', /user name or password/],
    ['rtmp://live.example.com', /application/],
    ['rtmp://127.0.0.1/app', /loopback/],
    ['rtmp://2130706433/app', /loopback/],
    ['rtmp://[::ffff:10.0.0.1]/app', /IPv4-mapped/],
    ['rtmp://169.254.169.254/app', /metadata/],
    ['rtmp://localhost/app', /this machine/],
    ['rtmp://live.example.com:22/app', /Port 22/],
    ['nonsense', /URL/],
  ])('refuse %s', async (url, message) => {
    const body = { workspaceId, name: 'x', url, streamKey: 'key' }
    const reply = await ada.call('POST /api/streams/rtmp-destinations', { body })
    expect(reply.status).toBe(400)
    expect(reply.body.errors).toEqual([
      { path: '/body/url', code: expect.any(String), message: expect.stringMatching(message) },
    ])
  })

  test('of a known platform need only its name and a key', async () => {
    const body = { workspaceId, name: 'Our channel', platform: 'youtube', streamKey: 'wxyz-1a2b-3c4d-5e6f-7g8h' }
    const made = await dataOf(ada.call('POST /api/streams/rtmp-destinations', { body }))
    expect(made).toMatchObject({ platform: 'youtube', url: 'rtmps://a.rtmps.youtube.com:443/live2' })
    const list = await ada.call('GET /api/streams/rtmp-destinations', { query: { workspaceId } })
    expect(list.body.data).toEqual([made])
    const wrong = { ...body, streamKey: 'rtmps://a.rtmps.youtube.com/live2/wxyz-1a2b-3c4d-5e6f-7g8h' }
    const refused = await ada.call('POST /api/streams/rtmp-destinations', { body: wrong })
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: '/body/streamKey', code: 'key_is_url' }] } })
    expect(refused.text).not.toContain('7g8h')
    const { _id } = await stream({ platforms: to(made, await destination('another server')) })
    const relay = await dataOf(ada.call('GET /api/streams/{id}/relay', at(_id)))
    expect(relay.destinations.map(({ caps }: { caps: object | null }) => caps)).toEqual([
      expect.objectContaining({
        platform: 'youtube',
        maxBitrate: { value: 51_160_000, source: 'obs', seen: '2026-08' },
      }),
      null,
    ])
    const named = await stream({ platforms: [{ platform: 'youtube', accountId: made._id }] })
    expect(named.platforms).toMatchObject([{ platform: 'youtube', accountId: made._id }])
    expect(relay.destinations).toMatchObject([{ platform: 'youtube' }, { platform: 'custom' }])
    const asTwitch = { workspaceId, title: 'x', platforms: [{ platform: 'twitch', accountId: made._id }] }
    expect((await ada.call('POST /api/streams', { body: asTwitch })).body.errors).toEqual([
      {
        path: '/body/platforms/0/platform',
        code: 'platform',
        message: 'must be custom or youtube for this destination',
      },
    ])
    const { platform: _platform, ...nowhere } = body
    const lost = await ada.call('POST /api/streams/rtmp-destinations', { body: nowhere })
    expect(lost).toMatchObject({ status: 400, body: { errors: [{ path: '/body/url', code: 'required' }] } })
  })

  test('are removed from streams that use them, unless one is live', async () => {
    const one = await destination()
    const { _id } = await stream({ platforms: to(one) })
    announce()
    await dataOf(ada.call('POST /api/streams/{id}/go-live', { ...at(_id), body: { waitForIngest: true } }))
    const busy = await ada.call('DELETE /api/streams/rtmp-destinations/{id}', at(one._id))
    expect(busy).toMatchObject({ status: 409, body: { message: expect.stringContaining('Launch') } })
    await dataOf(ada.call('POST /api/streams/{id}/stop', at(_id)))
    expect((await ada.call('DELETE /api/streams/rtmp-destinations/{id}', at(one._id))).status).toBe(200)
    expect((await dataOf(ada.call('GET /api/streams/{id}', at(_id)))).platforms).toEqual([])
    expect((await ada.call('DELETE /api/streams/rtmp-destinations/{id}', at(one._id))).status).toBe(404)
  })
})

describe('going live', () => {
  const goLive = (id: string, body: object = {}) => ada.call('POST /api/streams/{id}/go-live', { ...at(id), body })
  const stop = (id: string) => ada.call('POST /api/streams/{id}/stop', at(id))
  const get = (id: string) => dataOf(ada.call('GET /api/streams/{id}', at(id)))

  /** A report of a media node. */
  async function see(id: string, streamKey: string, sessionId: string | null, destinations: object[] = []) {
    await app.composition.turns.system(workspaceId, observeStream, {
      streamId: id,
      nodeId: NODE,
      ingest: sessionId === null ? null : { sessionId, path: streamKey.split('-')[0] ?? '' },
      destinations: destinations as never,
      at: '2026-11-21T10:00:00.000Z',
    })
  }

  beforeEach(() => announce())

  test('follows the publisher: receiving, live, interrupted, live, ended', async () => {
    const one = await destination()
    const { _id, streamKey } = await stream({ platforms: to(one) })
    expect(await goLive(_id)).toMatchObject({ status: 409, body: { message: expect.stringMatching(/no publisher/) } })
    expect(await stop(_id)).toMatchObject({ status: 409, body: { message: expect.stringMatching(/nothing to stop/) } })
    const session = uuidv7(1)
    await see(_id, streamKey, session)
    await see(_id, streamKey, session)
    expect(await get(_id)).toMatchObject({ status: 'receiving', version: 1 })
    expect((await goLive(_id)).body.data).toMatchObject({ status: 'live', liveAt: expect.any(String), version: 1 })
    expect((await goLive(_id)).body.data).toMatchObject({ status: 'live', version: 1 })
    await see(_id, streamKey, null)
    expect(await get(_id)).toMatchObject({ status: 'interrupted' })
    await see(_id, streamKey, uuidv7(2))
    expect(await get(_id)).toMatchObject({ status: 'live' })
    expect((await ada.call('DELETE /api/streams/{id}', at(_id))).status).toBe(409)
    expect((await stop(_id)).body.data).toMatchObject({
      status: 'ended',
      endReason: 'stopped',
      platforms: [{ status: 'stopped' }],
    })
    expect((await stop(_id)).status).toBe(200)
    expect(await goLive(_id, { waitForIngest: true })).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/arm/) },
    })
    await see(_id, streamKey, uuidv7(3))
    expect(await get(_id)).toMatchObject({ status: 'ended' })
    const sessions = await dataOf(ada.call('GET /api/streams/{id}/sessions', at(_id)))
    expect(sessions).toMatchObject([{ endReason: 'stopped', destinations: [{ accountId: one._id, status: 'idle' }] }])
  })

  test('needs a media node and a destination', async () => {
    const { _id } = await stream()
    expect(await goLive(_id, { waitForIngest: true })).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/destination/) },
    })
    const one = await destination()
    await ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'x', platforms: to(one) } })
    app.composition.services.mediaNodes.directory.announce({ nodeId: NODE, status: null })
    const away = await goLive(_id, { waitForIngest: true })
    expect(away).toMatchObject({ status: 503, body: { code: 'media_unavailable' } })
    expect(away.headers.get('retry-after')).toBe('2')
    announce()
    expect((await goLive(_id, { waitForIngest: true })).body.data.status).toBe('starting')
  })

  test('relays to the named destinations only', async () => {
    const [one, two] = [await destination('one'), await destination('two')]
    const { _id, platforms } = await stream({ platforms: to(one, two) })
    const enabled = (reply: Awaited<ReturnType<typeof goLive>>) =>
      reply.body.data.platforms.map((platform: { enabled: boolean }) => platform.enabled)
    expect((await goLive(_id, { waitForIngest: true, destinationIds: [NODE] })).status).toBe(400)
    expect(enabled(await goLive(_id, { waitForIngest: true, destinationIds: [platforms[1]._id] }))).toEqual([
      false,
      true,
    ])
    const retry = (destinationId: string) =>
      ada.call('POST /api/streams/{id}/destinations/{destinationId}/retry', { path: { id: _id, destinationId } })
    expect((await retry(platforms[0]._id)).status).toBe(409)
    expect((await retry(platforms[1]._id)).status).toBe(200)
    expect((await retry(NODE)).status).toBe(404)
    expect(enabled(await goLive(_id, { destinationIds: [platforms[0]._id] }))).toEqual([true, false])
    await stop(_id)
    await ada.call('POST /api/streams/{id}/arm', at(_id))
    expect((await retry(platforms[0]._id)).status).toBe(409)
    expect(enabled(await goLive(_id, { waitForIngest: true }))).toEqual([true, true])
  })

  test('is limited by the concurrent streams and minutes of the plan', async () => {
    const one = await destination()
    const ids: { _id: string }[] = []
    for (let count = 0; count < 5; count += 1) ids.push(await stream({ platforms: to(one) }))
    const replies = await Promise.all(ids.map(({ _id }) => goLive(_id, { waitForIngest: true })))
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 200, 402])
    expect(replies.find(({ status }) => status === 402)?.body.details).toEqual({
      limit: 'concurrentStreams',
      value: 4,
      used: 4,
      plan: 'free',
      nextPlan: 'starter',
      isTrial: false,
    })
    for (const { _id } of ids) await stop(_id)
    const { _id } = await stream({ platforms: to(one) })
    await app.database.run(
      `insert into stream_usage (ingest_id, month, session_id, stream_id, workspace_id, owner_id, live_ms, updated_at)
       values ($1, '2026-11-01', $1, $1, $2, $3, $4, now())`,
      [uuidv7(9), workspaceId, world.id(`ada-${round}`), 600 * 60_000],
    )
    expect(await goLive(_id, { waitForIngest: true })).toMatchObject({
      status: 402,
      body: { details: { limit: 'streamingMinutesPerMonth', value: 600, used: 600 } },
    })
    const usage = await dataOf(ada.call('GET /api/streams/usage'))
    expect(usage).toMatchObject({ month: '2026-11', minutesUsed: 600, minutesLimit: 600, destinationLimit: 10 })
    expect(usage.workspaces).toEqual([{ workspaceId, minutesUsed: 600, activeStreams: 0, owned: true }])
    const others = await dataOf(world.as('reader').call('GET /api/streams/usage'))
    expect(others.minutesUsed).toBe(0)
    expect(others.workspaces).toContainEqual({ workspaceId, minutesUsed: 600, activeStreams: 0, owned: false })
  })

  test('replaces the old key with a new one', async () => {
    const one = await destination()
    const { _id, streamKey } = await stream({ platforms: to(one) })
    const session = uuidv7(1)
    await see(_id, streamKey, session)
    await goLive(_id)
    const armed = await dataOf(ada.call('POST /api/streams/{id}/arm', at(_id)))
    expect(armed).toEqual({
      rtmpIngestUrl: app.config.PUBLIC_RTMP_URL,
      backupStreamKey: expect.stringMatching(/^[0-9a-f]{16}b-/),
      streamKey: expect.not.stringContaining(streamKey.split('-')[0] ?? ''),
      whipUrl: `${app.config.PUBLIC_URL}/api/streams/whip/${armed.streamKey.split('-')[0]}`,
      whipToken: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: expect.any(String),
    })
    expect(await get(_id)).toMatchObject({ status: 'interrupted', streamKey: armed.streamKey })
    await see(_id, streamKey, session)
    expect(await get(_id)).toMatchObject({ status: 'interrupted' })
    await see(_id, armed.streamKey, uuidv7(2))
    expect(await get(_id)).toMatchObject({ status: 'live' })
    await stop(_id)
    await ada.call('POST /api/streams/{id}/arm', { ...at(_id), body: { platforms: [] } })
    expect(await get(_id)).toMatchObject({ status: 'idle', endReason: null, platforms: [] })
  })

  test('changes the ETag with edits only, not with the status', async () => {
    const { _id, streamKey, platforms } = await stream({ platforms: to(await destination('flapping')) })
    const etag = async () => (await ada.call('GET /api/streams/{id}', at(_id))).headers.get('etag')
    const read = await etag()
    const session = uuidv7(1)
    await see(_id, streamKey, session)
    await goLive(_id)
    for (const second of [1, 2, 3]) {
      const since = `2026-11-21T10:00:0${second}.000Z`
      await see(_id, streamKey, session, [{ id: platforms[0]._id, state: 'backoff', since, lastError: null }])
    }
    expect((await get(_id)).platforms).toMatchObject([{ status: 'backoff', since: '2026-11-21T10:00:03.000Z' }])
    expect(await etag()).toBe(read)
    const edit = (tag: string) =>
      ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'New' }, headers: { 'If-Match': tag } })
    expect((await edit(`W/${read}`)).status).toBe(412)
    expect((await edit(`"x", ${read}`)).status).toBe(200)
    expect(await etag()).not.toBe(read)
    expect((await edit('*')).status).toBe(200)
  })

  test('stores and announces states of destinations without secrets', async () => {
    const one = await destination('one', { streamKey: 'topsecretkey99' })
    const { _id, streamKey, platforms } = await stream({ platforms: to(one) })
    const session = uuidv7(1)
    await see(_id, streamKey, session)
    await goLive(_id)
    const since = '2026-11-21T10:00:01.000Z'
    const lastError = { code: 'rejected', message: 'Rejected by the server.', at: since }
    await see(_id, streamKey, session, [{ id: platforms[0]._id, state: 'backoff', since, lastError }])
    expect((await get(_id)).platforms).toMatchObject([{ status: 'backoff', since, lastError }])
    const events = await app.database.rows<{ type: string; data: object }>(
      'select type, data from workspace_events where workspace_id = $1 order by seq',
      [workspaceId],
    )
    expect(events.at(-1)).toMatchObject({
      type: 'destination.updated',
      data: { streamId: _id, status: 'backoff', lastError },
    })
    const text = JSON.stringify([events, await app.database.rows('select * from audit_log'), app.logs])
    for (const secret of [streamKey.split('-')[1], 'topsecretkey99']) expect(text).not.toContain(secret)
  })

  test('stores that the key of a destination has worked, for other processes', async () => {
    const one = await destination('one')
    const { _id, streamKey, platforms } = await stream({ platforms: to(one) })
    await see(_id, streamKey, uuidv7(1))
    await goLive(_id)
    const hasWorked = async () => {
      const state = await app.composition.services.mediaLink.desiredStates.of(_id)
      return state?.stream.destinations[0]?.hasWorked ?? false
    }
    expect(await hasWorked()).toBe(false)
    const since = '2026-11-21T10:00:01.000Z'
    const report = { id: platforms[0]._id, state: 'live', since, lastError: null }
    await see(_id, streamKey, uuidv7(1), [{ ...report, hasWorked: false }])
    expect(await hasWorked()).toBe(false)
    // The state is the same. Only the key was found to work.
    await see(_id, streamKey, uuidv7(1), [{ ...report, hasWorked: true }])
    expect(await hasWorked()).toBe(true)
  })

  test('prefers the selected encoder until the stream ends', async () => {
    const { _id, streamKey } = await stream({ platforms: to(await destination('one')) })
    const preferred = async () =>
      (await app.composition.services.mediaLink.desiredStates.of(_id))?.stream.preferredInput
    const select = (source: string) => ada.call('POST /api/streams/{id}/switch-input', { ...at(_id), body: { source } })
    expect(await preferred()).toEqual({ source: 'primary', selected: false })
    await dataOf(ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'T', inputPreference: 'current' } }))
    expect(await preferred()).toBeUndefined()
    await see(_id, streamKey, uuidv7(1))
    expect(await select('backup')).toMatchObject({ status: 409, body: { message: expect.stringContaining('backup') } })
    const primary = { ...INGESTED, warnings: [] }
    announce([{ ...RELAYED, streamId: _id, ingest: primary, standby: { ...primary, source: 'backup' } }])
    expect(await dataOf(select('backup'))).toMatchObject({ inputPreference: 'current', inputSelected: 'backup' })
    expect(await preferred()).toEqual({ source: 'backup', selected: true })
    await stop(_id)
    await dataOf(ada.call('POST /api/streams/{id}/arm', at(_id)))
    expect(await get(_id)).toMatchObject({ inputPreference: 'current', inputSelected: null })
  })

  test('sends media nodes the recording mode for outages', async () => {
    const { _id } = await stream({ record: true, recordGaps: 'slate' })
    const desired = async () => (await app.composition.services.mediaLink.desiredStates.of(_id))?.recordGaps
    expect(await get(_id)).toMatchObject({ recordGaps: 'slate' })
    expect(await desired()).toBe('slate')
    const change = (body: object) => ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'T', ...body } })
    expect(await dataOf(change({}))).toMatchObject({ recordGaps: 'slate' })
    expect(await dataOf(change({ recordGaps: 'cut' }))).toMatchObject({ recordGaps: 'cut' })
    expect(await desired()).toBe('cut')
    expect(await change({ recordGaps: 'keep' })).toMatchObject({ status: 400 })
  })

  test('announces problems of an ingest, and shows each where it belongs', async () => {
    const one = await destination('one')
    const { _id, platforms } = await stream({ platforms: to(one) })
    const since = '2026-11-21T10:00:01.000Z'
    const missing = { code: 'audio_missing', destinationId: null, message: 'No audio.', since } as const
    const fast = { code: 'bitrate', destinationId: platforms[0]._id, message: 'Too much.', since } as const
    const report = { streamId: _id, raised: [missing], cleared: [fast] }
    await app.composition.turns.system(workspaceId, reportDiagnosis, report)
    const events = await app.database.rows<{ data: object }>(
      `select data from workspace_events where workspace_id = $1 and type = 'diagnosis.updated' order by seq`,
      [workspaceId],
    )
    expect(events.map(({ data }) => data)).toEqual([
      { streamId: _id, ...missing, status: 'raised' },
      { streamId: _id, ...fast, status: 'cleared' },
    ])
    announce([{ ...RELAYED, streamId: _id, ingest: { ...INGESTED, warnings: [missing, fast] } }])
    const seen = await waitFor(async () => {
      const relay = await dataOf(ada.call('GET /api/streams/{id}/relay', at(_id)))
      return relay.ingest === null ? undefined : relay
    })
    const { destinationId: _none, ...general } = missing
    const { destinationId: _one, ...special } = fast
    expect(seen.ingest.warnings).toEqual([general])
    expect(seen.destinations[0].warnings).toEqual([special])
    announce()
  })

  test('gives a destination its rendering until another is requested', async () => {
    const one = await destination()
    const platforms = [{ ...to(one)[0], rendering: { crop: '9:16', maxBitrate: 2_500_000, delaySeconds: 1.5 } }]
    const { _id, platforms: shown } = await stream({ platforms })
    expect(shown[0].rendering).toEqual(platforms[0]?.rendering)
    const desired = async () =>
      (await app.composition.services.mediaLink.desiredStates.of(_id))?.stream.destinations[0]?.rendering
    expect(await desired()).toEqual({ crop: '9:16', maxBitrate: 2_500_000, delayMs: 1_500 })
    const put = (list: object[]) =>
      ada.call('PUT /api/streams/{id}', { ...at(_id), body: { title: 'T', platforms: list } })
    expect((await dataOf(put(to(one)))).platforms[0].rendering).toEqual(platforms[0]?.rendering)
    const later = { ...to(one)[0], rendering: { delaySeconds: 3 } }
    expect((await dataOf(put([later]))).platforms[0].rendering).toEqual({ delaySeconds: 3 })
    expect((await dataOf(put([{ ...to(one)[0], rendering: null }]))).platforms[0].rendering).toBeNull()
    expect(await desired()).toBeUndefined()
    const wrong = await put([{ ...to(one)[0], rendering: { crop: '1:1' } }])
    expect(wrong).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
  })

  test('waits for its publisher as long as the hold of the stream', async () => {
    const { _id, streamKey } = await stream({ platforms: to(await destination()), holdSeconds: 200 })
    await see(_id, streamKey, uuidv7(1))
    await goLive(_id)
    await see(_id, streamKey, null)
    const { statusSince } = await get(_id)
    const desired = await app.composition.services.mediaLink.desiredStates.of(_id)
    expect(desired?.stream.holdMs).toBe(200_000)
    const expire = (seconds: number) =>
      app.composition.turns.system(workspaceId, expireStream, {
        streamId: _id,
        now: Date.parse(statusSince) + seconds * 1_000,
      })
    await expire(199)
    expect(await get(_id)).toMatchObject({ status: 'interrupted', holdSeconds: 200 })
    await expire(200)
    expect(await get(_id)).toMatchObject({ status: 'ended', endReason: 'source_lost' })
  })

  test('refuses to skip beyond the last file unless the playout loops', async () => {
    const { _id } = await stream()
    const item = { assetId: uuidv7(1), renditionId: null, name: 'a.mp4', seconds: 60, key: 'a' }
    await app.database.run(
      `insert into stream_broadcasts (id, stream_id, workspace_id, status, items, loop, go_live, item, position_ms, cue,
         created_at, updated_at) values ($1, $2, $3, 'playing', $4, false, false, 0, 5000, 0, now(), now())`,
      [uuidv7(2), _id, workspaceId, JSON.stringify([item, item])],
    )
    const change = (body: object) => ada.call('PATCH /api/streams/{id}/broadcast', { ...at(_id), body })
    expect(await dataOf(change({ next: true }))).toMatchObject({ item: 1, position: 0 })
    expect(await change({ next: true })).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: 'This is the last file. Add one, or stop the broadcast.' },
    })
    expect(await dataOf(ada.call('GET /api/streams/{id}/broadcast', at(_id)))).toMatchObject({ item: 1, loop: false })
    expect(await dataOf(change({ next: true, loop: true }))).toMatchObject({ item: 0, loop: true })
  })

  test('ends the streams of a workspace that is deleted', async () => {
    const one = await destination()
    const { _id } = await stream({ platforms: to(one) })
    await goLive(_id, { waitForIngest: true })
    const body = { name: `acme ${round}` }
    await dataOf(ada.call('DELETE /api/workspaces/{id}', { ...at(workspaceId), body }))
    expect(await app.database.row('select status from streams where id = $1', [_id])).toEqual({ status: 'ended' })
  })
})
