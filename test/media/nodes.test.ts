import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { io, type Socket } from 'socket.io-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Feed } from '../../media/testing/feed.ts'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import { TestPublisher } from '../../media/testing/publisher.ts'
import { startSink, type Sink, type SinkConnection } from '../../media/testing/sink.ts'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { makeWhipMedia } from '../../media/testing/whip-media.ts'
import type { Turn } from '../../src/core/turn.ts'
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
let folder: string
const open: Broadcaster[] = []

/** A media node that no longer exists. */
const GONE = '01939c5e-7a3b-7c21-9f58-0000000000dd'
/** A turn that runs `afterCommit` callbacks at once, to send notices without a commit. */
const NO_TURN = { afterCommit: (act: () => void) => act() } as unknown as Turn

const env = { JWT_SECRET: 'a secret that all of the nodes share', ALLOW_PRIVATE_ADDRESSES: '1' }

beforeAll(async () => {
  redis = await startRedis()
  api = await startApp({ redisUrl: redis.url, env })
  const shared = { redisUrl: redis.url, env, databaseUrl: api.databaseUrl, media: true }
  folder = await mkdtemp(join(tmpdir(), 'crier-nodes-'))
  media = [
    await startApp({ ...shared, dataDir: await dataFolder('one') }),
    await startApp({ ...shared, dataDir: await dataFolder('two') }),
  ]
  world = new World(api)
})
afterEach(() => {
  for (const one of open.splice(0)) one.close()
})
afterAll(async () => {
  for (const app of media ?? []) await app.stop()
  await api?.stop()
  await redis?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** All nodes share one storage, as with a bucket. */
async function dataFolder(name: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(path)
  await symlink(join(api.dataDir, 'storage'), join(path, 'storage'))
  return path
}

/** A broadcaster for each media node: it uses the API of one node and publishes to another. */
async function casters(name: string) {
  const workspaceId = await world.workspace(name, `owner-of-${name}`)
  const caller = world.as(`owner-of-${name}`)
  const at = media.map((app) => new Broadcaster(app, caller, workspaceId)) as [Broadcaster, Broadcaster]
  open.push(...at)
  return { at, workspaceId, apiKey: (await world.user(`owner-of-${name}`)).apiKey }
}

test('controls and observes a stream on another node from an API node', async () => {
  const sink = await startSink()
  const { at, apiKey } = await casters('acme')
  const socket: Socket = io(api.url, { auth: { token: apiKey }, transports: ['websocket'], reconnection: false })
  const received: string[] = []
  socket.onAny((name: string, message?: { data?: { status?: string } }) =>
    received.push(`${name} ${message?.data?.status}`),
  )
  await waitFor(() => socket.connected)
  const { _id, streamKey } = await at[0].stream({ one: sink })
  const { publisher } = await at[0].publish(streamKey)
  await at[0].until(_id, 'receiving')
  await at[0].goLive(_id)
  await at[0].untilDestination(_id, 'one', 'live')
  const relay = await waitFor(async () => {
    const status = await at[0].call<{ ingest: object | null; destinations: { status: string }[] }>(
      'GET /api/streams/{id}/relay',
      { path: { id: _id } },
    )
    return status.ingest && status.destinations[0]?.status === 'live' ? status : undefined
  })
  expect(relay).toMatchObject({ live: true })
  const health = await at[0].call<{ nodes: object[]; paths: object[] }>('GET /api/streams/relay/health', {})
  expect(health.nodes).toMatchObject([{ ok: true }, { ok: true }])
  expect(health.paths).toHaveLength(1)
  await at[0].stop(_id)
  await publisher.closed
  await waitFor(() => received.includes('stream.updated ended'))
  expect(received).toEqual(
    expect.arrayContaining(['stream.created idle', 'stream.updated live', 'destination.updated live']),
  )
  socket.disconnect()
  await sink.close()
})

test('publishes by WHIP through an API node to a media node', async () => {
  const { at } = await casters('dune')
  const { _id } = await at[0].stream({})
  const armed = await at[0].call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
    path: { id: _id },
  })
  const client = new WhipClient({ media: await makeWhipMedia() })
  const headers = { Authorization: `Bearer ${armed.whipToken}`, 'Content-Type': 'application/sdp' }
  const url = new URL(new URL(armed.whipUrl).pathname, api.url)
  const response = await fetch(url, { method: 'POST', headers, body: await client.offer() })
  expect(response.status).toBe(201)
  client.accept(await response.text())
  client.start()
  await at[0].until(_id, 'receiving')
  const session = new URL(response.headers.get('location')!, api.url)
  expect((await fetch(session, { method: 'DELETE', headers })).status).toBe(200)
  expect((await fetch(session, { method: 'DELETE', headers })).status).toBe(404)
  client.close()
})

test('moves a stream with its publisher to another node', async () => {
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

/** A video in the media library of a workspace. */
async function clip(caster: Broadcaster): Promise<string> {
  const path = join(api.dataDir, 'clip.mp4')
  await makeClip(path, { seconds: 2, group: 15 })
  return caster.upload(path)
}

const publishing = (sink: Sink) => sink.connections.filter(({ closed, publishedAt }) => publishedAt !== null && !closed)

test('brings a publisher and a playout that race for the stream of a lost node to one node', async () => {
  const { at } = await casters('racing')
  const assetId = await clip(at[0])
  for (const publisherIsFirst of [true, false]) {
    const sink = await startSink()
    const { _id, streamKey } = await at[0].stream({ one: sink })
    const scheduledFor = '2099-01-01T00:00:00Z'
    await at[0].call('POST /api/streams/{id}/broadcast', {
      path: { id: _id },
      body: { assetId, loop: true, scheduledFor },
    })
    await at[0].goLive(_id, { waitForIngest: true })
    // The state after a node was lost. The other two nodes take over its playouts.
    await api.database.rows(
      `update stream_broadcasts set status = 'playing', started_at = now(), node_id = $2, seen_at = now() - interval '1 minute'
       where stream_id = $1`,
      [_id, GONE],
    )
    const { directory: mediaNodes } = api.composition.services.mediaNodes
    const [placed] = mediaNodes.nodes().filter(({ status }) => status?.rtmpPort === media[0].config.RTMP_PORT)
    await api.database.rows('update streams set media_node = $2 where id = $1', [_id, placed?.nodeId ?? null])
    const publisher = await TestPublisher.connect({ port: media[1].config.RTMP_PORT })
    const takeOver = () => api.composition.services.mediaNodes.notices.broadcast(NO_TURN, _id)
    if (!publisherIsFirst) takeOver()
    const published = publisher.publish(streamKey)
    if (publisherIsFirst) takeOver()
    await published
    publisher.setChunkSize(65_536)
    const feed = new Feed(publisher).start()
    await at[0].until(_id, 'live')
    const broadcast = () =>
      api.database.row<{ node_id: string; ingest_node: string }>(
        'select b.node_id, s.ingest_node from stream_broadcasts b join streams s on s.id = b.stream_id where s.id = $1',
        [_id],
      )
    // Both end on the same node in either order. One of them is on standby or has ended.
    await waitFor(
      async () => {
        const row = await broadcast()
        return row !== undefined && row.ingest_node !== null && row.node_id === row.ingest_node
      },
      { what: 'both on one node' },
    )
    // The destination also keeps only one connection.
    const counts = new Map<SinkConnection, number>()
    const isSettled = () => {
      const [active, ...others] = publishing(sink)
      if (active === undefined || others.length > 0) return false
      const count = counts.get(active) ?? active.messages.length
      counts.set(active, count)
      return active.messages.length > count + 60
    }
    await waitFor(isSettled, { what: 'media on exactly one connection' })
    feed.stop()
    publisher.close()
    await at[0].stop(_id)
    await sink.close()
  }
})

test('treats no node as lost while Redis is unavailable', async () => {
  const sinks = [await startSink(), await startSink()] as const
  const { at } = await casters('outage')
  const assetId = await clip(at[0])
  const files = await at[0].stream({ files: sinks[0] })
  await at[0].call('POST /api/streams/{id}/broadcast', { path: { id: files._id }, body: { assetId, loop: true } })
  const published = await at[1].stream({ encoder: sinks[1] })
  await at[1].publish(published.streamKey)
  await at[1].until(published._id, 'receiving')
  await at[1].goLive(published._id)
  await waitFor(() => sinks.every((sink) => sink.messages('video').length > 20))
  await redis.kill()
  const { directory: mediaNodes } = api.composition.services.mediaNodes
  await waitFor(() => mediaNodes.present().length === 0, { what: 'all nodes to be missing' })
  const counts = sinks.map((sink) => sink.messages('video').length)
  await waitFor(() => sinks.every((sink, index) => sink.messages('video').length > counts[index]! + 90))
  await redis.restart()
  await waitFor(() => mediaNodes.nodes().filter(({ ok }) => ok).length === 2)
  for (const { _id } of [files, published]) expect((await at[0].get(_id)).status).toBe('live')
  expect(sinks.map(({ connections }) => connections.length)).toEqual([1, 1])
  for (const { _id } of [files, published]) await at[0].stop(_id)
  for (const sink of sinks) await sink.close()
})

test('refuses only going live when no media node is left', async () => {
  const { at, workspaceId } = await casters('alone')
  const { _id, streamKey } = await at[0].stream({ one: await startSink() })
  const { publisher } = await at[0].publish(streamKey)
  await at[0].until(_id, 'receiving')
  for (const app of media.splice(0)) await app.stop()
  await publisher.closed
  await at[0].until(_id, 'idle')
  const caller = world.as('owner-of-alone')
  const refused = await caller.call('POST /api/streams/{id}/go-live', {
    path: { id: _id },
    body: { waitForIngest: true },
  })
  expect(refused).toMatchObject({ status: 503, body: { code: 'media_unavailable' } })
  expect(refused.headers.get('retry-after')).toBe('2')
  const created = await caller.call('POST /api/streams', { body: { workspaceId, title: 'Still works' } })
  expect(created.status).toBe(201)
})
