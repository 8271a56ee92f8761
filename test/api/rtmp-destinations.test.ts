import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { startApp, type App } from '../support/app.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let workspaceId: string
let sinks: Sink[] = []

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  world = new World(app)
})
afterAll(() => app.stop())

let round = 0
beforeEach(async () => {
  round += 1
  workspaceId = await world.workspace(`acme ${round}`, `ada-${round}`)
})
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close()
})

const ada = () => world.as(`ada-${round}`)
async function sink(options: Parameters<typeof startSink>[0] = {}): Promise<Sink> {
  const one = await startSink(options)
  sinks.push(one)
  return one
}

async function add(fields: object): Promise<string> {
  const body = { workspaceId, name: 'Main', streamKey: 'a-secret-key', ...fields }
  const reply = await ada().call('POST /api/streams/rtmp-destinations', { body })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id
}

const change = (id: string, body: object) =>
  ada().call('PATCH /api/streams/rtmp-destinations/{id}', { path: { id }, body })
const probe = (id: string, body?: object) =>
  ada().call('POST /api/streams/rtmp-destinations/{id}/test', { path: { id }, ...(body && { body }) })
const events = () =>
  app.database.rows<{ type: string; data: Record<string, unknown> }>(
    'select type, data from workspace_events where workspace_id = $1 order by seq',
    [workspaceId],
  )

/** A stream that uses a destination, in a state that no publisher has brought it to. */
async function streamWith(accountId: string, status: string): Promise<string> {
  const body = { workspaceId, title: 'Launch', platforms: [{ platform: 'custom', accountId }] }
  const { _id } = (await ada().call('POST /api/streams', { body })).body.data
  await app.database.rows('update streams set status = $1 where id = $2', [status, _id])
  return _id
}

describe('updateRtmpDestination', () => {
  test('changes what it names and keeps the rest, with the key masked', async () => {
    const id = await add({ url: 'rtmp://live.example.com/app' })
    const renamed = await change(id, { name: 'Second' })
    expect(renamed.body.data).toMatchObject({
      name: 'Second',
      url: 'rtmp://live.example.com/app',
      streamKey: '••••-key',
    })
    const moved = await change(id, { url: 'rtmps://other.example.com/app', streamKey: 'another-secret' })
    expect(moved.body.data).toMatchObject({ name: 'Second', url: 'rtmps://other.example.com/app' })
    expect(moved.text).not.toContain('another-secret')
    const changes = (await events()).filter(({ type }) => type === 'rtmpDestination.updated')
    expect(changes.map(({ data }) => data['accessChanged'])).toEqual([false, true])
  })

  test('checks platform, server and key together', async () => {
    const id = await add({ url: 'rtmp://live.example.com/app', streamKey: 'abcd-efgh-ijkl-mnop' })
    expect((await change(id, { platform: 'youtube' })).body.data.url).toBe('rtmps://a.rtmps.youtube.com:443/live2')
    expect((await change(id, { platform: 'twitch' })).body.errors[0]).toMatchObject({ path: '/body/streamKey' })
    expect((await change(id, { url: 'rtmp://live.example.com/app' })).body.errors[0]).toMatchObject({
      path: '/body/url',
    })
    expect((await change(id, { platform: null, url: 'rtmp://user:pass@live.example.com/app' })).status).toBe(400)
  })

  test('a live stream reconnects to a new server, and only then; the reply names it', async () => {
    const id = await add({ url: 'rtmp://live.example.com/app' })
    const streamId = await streamWith(id, 'live')
    expect((await change(id, { name: 'Second' })).body.message).toBe('RTMP destination changed')
    const moved = await change(id, { streamKey: 'another-key' })
    expect(moved.body.message).toBe('RTMP destination changed. It reconnects now in: “Launch”')
    const stream = await ada().call('GET /api/streams/{id}', { path: { id: streamId } })
    expect(stream.body.data.platforms[0]).toMatchObject({ accountId: id, name: 'Second' })
  })

  test('a key that worked counts as new after a change', async () => {
    const id = await add({ url: 'rtmp://live.example.com/app' })
    await app.database.rows('update rtmp_destinations set worked_at = now() where id = $1', [id])
    const worked = () =>
      app.database.row<{ at: string | null }>('select worked_at as at from rtmp_destinations where id = $1', [id])
    await change(id, { name: 'Second', streamKey: 'a-secret-key' })
    expect((await worked())?.at).not.toBeNull()
    await change(id, { streamKey: 'another-key' })
    expect((await worked())?.at).toBeNull()
  })
})

describe('testRtmpDestination', () => {
  test('says what arrived, and publishes for five seconds', async () => {
    const server = await sink()
    const id = await add({ url: `rtmp://127.0.0.1:${server.port}/live` })
    const reply = await probe(id)
    expect(reply.body).toMatchObject({
      message: 'The destination works',
      data: {
        passed: true,
        steps: ['resolve', 'connect', 'handshake', 'publish', 'media'],
        failedStep: null,
        mending: null,
        explanation: expect.stringMatching(
          /^The server accepted the stream key, and \d+ kB of \d+ kB arrived there\.$/,
        ),
      },
    })
    expect(server.last()?.streamKey).toBe('a-secret-key')
    expect(server.messages('audio').at(-1)?.timestamp).toBeGreaterThan(4_900)
    const audited = await app.database.rows(
      "select details from audit_log where action = 'testRtmpDestination' and workspace_id = $1",
      [workspaceId],
    )
    expect(audited).toHaveLength(1)
    expect((await events()).at(-1)).toMatchObject({ type: 'rtmpDestination.tested', data: { passed: true } })
  })

  test('says where it failed and what to do', async () => {
    const server = await sink({ refuse: { code: 'NetStream.Publish.BadName', description: 'no a-secret-key here' } })
    const id = await add({ url: `rtmp://127.0.0.1:${server.port}/live` })
    const reply = await probe(id)
    expect(reply.body.data).toMatchObject({
      passed: false,
      failedStep: 'publish',
      code: 'rejected',
      mending: expect.stringContaining('Copy the stream key'),
    })
    expect(reply.text).not.toContain('a-secret-key')
    expect(JSON.stringify([await events(), app.logs])).not.toContain('a-secret-key')
  })

  test('a platform, by name or by its server, is asked only after a confirmation', async () => {
    const named = await add({ platform: 'youtube', streamKey: 'abcd-efgh-ijkl-mnop' })
    const hosted = await add({ url: 'rtmps://live.twitch.tv/app', streamKey: 'live_1_abc' })
    for (const [id, label] of [
      [named, 'YouTube'],
      [hosted, 'Twitch'],
    ] as const) {
      const reply = await probe(id)
      expect([reply.status, reply.body.code]).toEqual([409, 'public_test_unconfirmed'])
      expect(reply.body.message).toContain(`${label} may show`)
    }
  })

  test('a live stream is never disturbed', async () => {
    const server = await sink()
    const id = await add({ url: `rtmp://127.0.0.1:${server.port}/live` })
    await streamWith(id, 'live')
    const reply = await probe(id)
    expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining('“Launch” is live')])
    expect(server.connections).toHaveLength(0)
  })

  test('ten requests at once get one test of a destination, and two of a workspace', async () => {
    const server = await sink()
    const url = `rtmp://127.0.0.1:${server.port}/live`
    const [one, two, three] = [await add({ url }), await add({ url }), await add({ url })]
    const replies = await Promise.all([one, one, one, one, two, two, two, three, three, three].map((id) => probe(id)))
    expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(2)
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 409]))
    expect(server.connections).toHaveLength(2)
    await waitFor(async () => (await probe(three)).status === 200)
  })

  test('an address that is not public is never connected to', async () => {
    const strict = await startApp()
    const world2 = new World(strict)
    try {
      const id = await world2.workspace('acme', 'ada')
      const body = { workspaceId: id, name: 'Main', url: 'rtmp://localhost.localdomain/app', streamKey: 'a-secret-key' }
      const made = await world2.as('ada').call('POST /api/streams/rtmp-destinations', { body })
      const server = await sink()
      await strict.database.rows('update rtmp_destinations set url = $1', [`rtmp://127.0.0.1:${server.port}/live`])
      const path = { id: made.body.data._id }
      const reply = await world2.as('ada').call('POST /api/streams/rtmp-destinations/{id}/test', { path })
      expect(reply.body.data).toMatchObject({ failedStep: 'resolve', code: 'address_refused', steps: [] })
      expect(server.connections).toHaveLength(0)
    } finally {
      await strict.stop()
    }
  })
})
