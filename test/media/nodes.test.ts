import { io, type Socket } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startSink } from '../../media/testing/sink.ts'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { makeWhipMedia } from '../../media/testing/whip-media.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The API on one node, media on two others; one database and one Redis. */
let redis: TestRedis
let api: App
let media: [App, App]
let world: World
const open: Broadcaster[] = []

const env = { JWT_SECRET: 'a secret that all of the nodes share', ALLOW_PRIVATE_ADDRESSES: '1' }

beforeAll(async () => {
  redis = await startRedis()
  api = await startApp({ redisUrl: redis.url, env })
  const shared = { redisUrl: redis.url, env, databaseUrl: api.databaseUrl, media: true }
  media = [await startApp(shared), await startApp(shared)]
  world = new World(api)
})
afterEach(() => {
  for (const one of open.splice(0)) one.close()
})
afterAll(async () => {
  for (const app of media ?? []) await app.stop()
  await api?.stop()
  await redis?.stop()
})

/** Hands on the API of one node, publishing to another. */
async function casters(name: string) {
  const workspaceId = await world.workspace(name, `owner-of-${name}`)
  const voice = world.as(`owner-of-${name}`)
  const at = media.map((app) => new Broadcaster(app, voice, workspaceId)) as [Broadcaster, Broadcaster]
  open.push(...at)
  return { at, workspaceId, apiKey: (await world.user(`owner-of-${name}`)).apiKey }
}

test('an API node commands, sees and hears of a stream that another node takes in', async () => {
  const sink = await startSink()
  const { at, apiKey } = await casters('acme')
  const socket: Socket = io(api.url, { auth: { token: apiKey }, transports: ['websocket'], reconnection: false })
  const heard: string[] = []
  socket.onAny((name: string, message?: { data?: { status?: string } }) =>
    heard.push(`${name} ${message?.data?.status}`),
  )
  await waitFor(() => socket.connected)
  const { _id, streamKey } = await at[0].stream({ one: sink })
  const { publisher } = await at[0].publish(streamKey)
  await at[0].until(_id, 'receiving')
  await at[0].goLive(_id)
  await at[0].untilDestination(_id, 'one', 'live')
  const relay = await waitFor(async () => {
    const status = await at[0].good<{ ingest: object | null; destinations: { state: string }[] }>(
      'GET /api/streams/{id}/relay',
      { path: { id: _id } },
    )
    return status.ingest && status.destinations[0]?.state === 'live' ? status : undefined
  })
  expect(relay).toMatchObject({ live: true })
  const health = await at[0].good<{ nodes: object[]; paths: object[] }>('GET /api/streams/relay/health', {})
  expect(health.nodes).toMatchObject([{ ok: true }, { ok: true }])
  expect(health.paths).toHaveLength(1)
  await at[0].stop(_id)
  await publisher.closed
  await waitFor(() => heard.includes('stream.updated ended'))
  expect(heard).toEqual(
    expect.arrayContaining(['stream.created idle', 'stream.updated live', 'stream.destination live']),
  )
  socket.disconnect()
  await sink.close()
})

test('a browser publishes over an API node; the media goes to another', async () => {
  const { at } = await casters('dune')
  const { _id } = await at[0].stream({})
  const armed = await at[0].good<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
    path: { id: _id },
  })
  const client = new WhipClient({ media: await makeWhipMedia() })
  const headers = { Authorization: `Bearer ${armed.whipToken}`, 'Content-Type': 'application/sdp' }
  const url = new URL(new URL(armed.whipUrl).pathname, api.url)
  const answer = await fetch(url, { method: 'POST', headers, body: await client.offer() })
  expect(answer.status).toBe(201)
  client.accept(await answer.text())
  client.start()
  await at[0].until(_id, 'receiving')
  const session = new URL(answer.headers.get('location')!, api.url)
  expect((await fetch(session, { method: 'DELETE', headers })).status).toBe(200)
  expect((await fetch(session, { method: 'DELETE', headers })).status).toBe(404)
  client.close()
})

test('a publisher that moves to another node takes its stream along', async () => {
  const sink = await startSink()
  const { at } = await casters('moving')
  const { _id, streamKey } = await at[0].stream({ one: sink })
  const first = await at[0].publish(streamKey)
  await at[0].until(_id, 'receiving')
  await at[0].goLive(_id)
  await at[0].untilDestination(_id, 'one', 'live')
  const second = await at[1].publish(streamKey)
  await first.publisher.closed
  await waitFor(() => sink.connections.length === 2 && sink.connections[0]?.closed && !sink.last()?.closed)
  expect((await at[0].get(_id)).status).toBe('live')
  expect(second.publisher.socket.destroyed).toBe(false)
  await at[0].stop(_id)
  await second.publisher.closed
  await sink.close()
})

test('with no media node left, going live says so and everything else works', async () => {
  const { at, workspaceId } = await casters('alone')
  const { _id, streamKey } = await at[0].stream({ one: await startSink() })
  const { publisher } = await at[0].publish(streamKey)
  await at[0].until(_id, 'receiving')
  for (const app of media.splice(0)) await app.stop()
  await publisher.closed
  await at[0].until(_id, 'idle')
  const voice = world.as('owner-of-alone')
  const refused = await voice.call('POST /api/streams/{id}/go-live', {
    path: { id: _id },
    body: { waitForIngest: true },
  })
  expect(refused).toMatchObject({ status: 503, body: { code: 'media_unavailable' } })
  expect(refused.headers.get('retry-after')).toBe('2')
  const created = await voice.call('POST /api/streams', { body: { workspaceId, title: 'Still works' } })
  expect(created.status).toBe(201)
})
