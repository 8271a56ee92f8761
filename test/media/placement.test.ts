import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { makeClip, runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { readTags } from '../../media/testing/flv-file.ts'
import { Feed } from '../../media/testing/feed.ts'
import { TestPublisher } from '../../media/testing/publisher.ts'
import { startSink, type Sink, type SinkMessage } from '../../media/testing/sink.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster, type SeenStream } from '../support/broadcast.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The API runs in this process, two media nodes run in child processes. All share one Redis and one database. */
let redis: TestRedis
let api: App
let folder: string
const nodes: CrierProcess[] = []
let caster: Broadcaster
let workspaceId: string
let sinks: Sink[] = []
const publishers: { close(): void }[] = []

/** The JWT secret that `startApp` uses with Redis. */
const SECRET = 'what all nodes of a test have in common'

beforeAll(async () => {
  redis = await startRedis()
  api = await startApp({ redisUrl: redis.url, env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  folder = await mkdtemp(join(tmpdir(), 'crier-media-nodes-'))
  nodes.push(...(await Promise.all(['one', 'two'].map(mediaNode))))
  const world = new World(api)
  workspaceId = await world.workspace('acme', 'ada')
  caster = new Broadcaster(api, world.as('ada'), workspaceId)
  await world.user('ada', { plan: 'business' })
  // Starting a node causes load, and a loaded node gets no streams.
  await waitFor(async () => (await health()).filter(({ load, ok }) => ok && load < 0.4).length === 2)
})
afterEach(async () => {
  for (const publisher of publishers.splice(0)) publisher.close()
  for (const sink of sinks.splice(0)) await sink.close()
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  await api?.stop()
  await redis?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

let created = 0

async function mediaNode(name: string): Promise<CrierProcess> {
  const rtmp = await freeLoopbackPort()
  const data = join(folder, `${name}-${(created += 1)}`)
  // All nodes share one storage, as with a bucket.
  await mkdir(data, { recursive: true })
  await symlink(join(api.dataDir, 'storage'), join(data, 'storage'))
  return CrierProcess.start(
    folder,
    { http: await freeLoopbackPort(), rtmp },
    {
      ROLES: 'media',
      DATA_DIR: data,
      DATABASE_URL: api.databaseUrl,
      DATABASE_POOL: '3',
      REDIS_URL: redis.url,
      JWT_SECRET: SECRET,
      HOST: '127.0.0.1',
      RTMP_HOST: '127.0.0.1',
      MEDIA_INGEST_URL: `rtmp://127.0.0.1:${rtmp}/live`,
      MEDIA_STREAMS: '2',
    },
  )
}

interface SeenNode {
  readonly nodeId: string
  readonly ok: boolean
  readonly streams: number
  readonly load: number
}

async function health(): Promise<SeenNode[]> {
  return (await caster.call<{ nodes: SeenNode[] }>('GET /api/streams/relay/health', {})).nodes
}

type Placed = SeenStream & { readonly rtmpIngestUrl: string }

async function stream(): Promise<Placed> {
  const sink = await startSink()
  sinks.push(sink)
  return (await caster.stream({ [`sink-${sinks.length}`]: sink })) as Placed
}

/** Publishes to a server. Returns the reason when the publisher is refused. */
async function publishTo(server: string, key: string): Promise<{ feed?: Feed; refused?: string }> {
  const publisher = await TestPublisher.connect({ port: Number(new URL(server).port) })
  publishers.push(publisher)
  const status = await publisher.publish(key)
  if (status?.code !== 'NetStream.Publish.Start') return { refused: status?.description ?? 'closed' }
  publisher.setChunkSize(65_536)
  const feed = new Feed(publisher).start()
  publishers.push({ close: () => feed.stop() })
  return { feed }
}

const portOf = (server: string) => Number(new URL(server).port)

test('distributes streams over the nodes, keeps them there, and redirects publishers of a full node', async () => {
  const four = [await stream(), await stream(), await stream(), await stream()]
  const servers = four.map(({ rtmpIngestUrl }) => rtmpIngestUrl)
  for (const node of nodes) expect(servers.filter((server) => portOf(server) === node.rtmpPort)).toHaveLength(2)
  for (const { rtmpIngestUrl, streamKey, _id } of four.slice(0, 3)) {
    expect((await publishTo(rtmpIngestUrl, streamKey)).refused).toBeUndefined()
    await caster.until(_id, 'receiving')
  }
  await waitFor(async () => {
    const seen = (await health()).map(({ streams }) => streams)
    return seen.toSorted((a, b) => a - b).join() === '1,2'
  })
  const [first, , , last] = four as [Placed, Placed, Placed, Placed]
  expect(await caster.get(first._id)).toMatchObject({ rtmpIngestUrl: first.rtmpIngestUrl })
  const full = servers.find((server) => four.slice(0, 3).filter((one) => one.rtmpIngestUrl === server).length === 2)!
  const free = servers.find((server) => server !== full)!
  expect((await publishTo(full, last.streamKey)).refused).toContain(free)
  const backup = await publishTo(first.rtmpIngestUrl === full ? free : full, first.backupStreamKey)
  expect(backup.refused).toContain(`send the backup to ${first.rtmpIngestUrl}`)
  expect((await publishTo(free, last.streamKey)).refused).toBeUndefined()
  await caster.until(last._id, 'receiving')
  for (const { _id } of four) await caster.stop(_id)
})

test('the other node accepts the publishers of a killed node at once, and gets all new streams', async () => {
  await waitFor(async () => (await health()).every(({ streams }) => streams === 0))
  const { _id, rtmpIngestUrl, streamKey } = await stream()
  await publishTo(rtmpIngestUrl, streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'sink-1', 'live')
  const [lost] = nodes.splice(
    nodes.findIndex((node) => node.rtmpPort === portOf(rtmpIngestUrl)),
    1,
  )
  await lost!.kill()
  const [left] = nodes
  const second = await publishTo(`rtmp://127.0.0.1:${left!.rtmpPort}/live`, streamKey)
  expect(second.refused).toBeUndefined()
  const [sink] = sinks
  await waitFor(() => sink!.connections.length === 2 && !sink!.last()!.closed)
  const arrived = sink!.messages('video').length
  await waitFor(() => sink!.messages('video').length > arrived + 20)
  expect(await caster.get(_id)).toMatchObject({ status: 'live' })
  await waitFor(async () => portOf(((await caster.get(_id)) as Placed).rtmpIngestUrl) === left!.rtmpPort)
  await waitFor(async () => (await health()).filter(({ ok }) => ok).length === 1)
  expect(portOf((await stream()).rtmpIngestUrl)).toBe(left!.rtmpPort)
  await caster.stop(_id)
})

test('the other node continues the playouts of a killed node, and gets its streams', async () => {
  nodes.push(await mediaNode('three'))
  await waitFor(async () => (await health()).filter(({ ok }) => ok).length === 2)
  const files = await stream()
  const [sink] = sinks
  const { assetId, checksums } = await clip()
  await caster.call('POST /api/streams/{id}/broadcast', {
    path: { id: files._id },
    body: { assetId, goLive: true },
  })
  await caster.until(files._id, 'live')
  await waitFor(() => sink!.messages('video').length > 80)
  expect(sink!.connections).toHaveLength(1)
  const { rtmpIngestUrl } = (await caster.get(files._id)) as Placed
  const { _id, streamKey } = await stream()
  expect((await publishTo(rtmpIngestUrl, streamKey)).refused).toBeUndefined()
  await caster.until(_id, 'receiving')
  const at = nodes.findIndex((node) => node.rtmpPort === portOf(rtmpIngestUrl))
  const [lost] = nodes.splice(at, 1)
  await lost!.kill()
  const stored = await api.database.row<{ position_ms: number }>(
    'select position_ms from stream_broadcasts where stream_id = $1',
    [files._id],
  )
  const [left] = nodes
  await waitFor(() => sink!.connections.length > 1 && sink!.last()!.messages.length > 50, {
    what: 'the playout to continue',
  })
  expect(portOf(((await caster.get(files._id)) as Placed).rtmpIngestUrl)).toBe(left!.rtmpPort)
  // It continues from the last keyframe before the stored position, and no destination ever has two connections.
  const [before, after] = sink!.connections.map((one) =>
    one.of('video').filter(({ isSequenceHeader }) => !isSequenceHeader),
  )
  const secondsOf = (message: SinkMessage | undefined) => checksums.indexOf(message?.checksum ?? 0) / FPS
  const position = (stored?.position_ms ?? 0) / 1_000
  expect(position).toBeGreaterThan(0)
  expect(position).toBeLessThan(secondsOf(before!.at(-1)) + 0.5)
  expect(secondsOf(after![0])).toBeGreaterThan(position - GOP / FPS - 0.1)
  expect(secondsOf(after![0])).toBeLessThan(position + 0.1)
  expect(sink!.connections[0]?.closedAt).toBeLessThan(sink!.connections[1]!.openedAt)
  await caster.until(_id, 'idle')
  const isMoved = async () => {
    const moved = (await caster.get(_id)) as Placed
    return portOf(moved.rtmpIngestUrl) === left!.rtmpPort ? moved : undefined
  }
  const moved = await waitFor(isMoved, { what: 'the ingest URL of the other node' })
  expect((await publishTo(moved.rtmpIngestUrl, streamKey)).refused).toBeUndefined()
  await caster.until(_id, 'receiving')
  await caster.stop(_id)
  await caster.stop(files._id)
})

const FPS = 30
/** Frames from one keyframe to the next. */
const GOP = 15

/** Uploads a clip to the media library. Returns its id, and the checksum of each video frame as it is relayed. */
async function clip(): Promise<{ assetId: string; checksums: number[] }> {
  const path = join(folder, 'clip.mp4')
  await makeClip(path, { seconds: 20, group: GOP, size: '160x90' })
  await runFfmpeg('-i', path, '-c', 'copy', '-f', 'flv', `${path}.flv`)
  const tags = readTags(await readFile(`${path}.flv`)).filter(({ payload, type }) => type === 9 && payload[1] === 1)
  return { assetId: await caster.upload(path), checksums: tags.map(({ payload }) => crc32(payload)) }
}
