import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { hashOf, startNode, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { Feed } from '../testing/feed.ts'
import { WhipClient, type WhipClientOptions } from '../testing/whip-client.ts'
import { makeWhipMedia, type WhipMedia } from '../testing/whip-media.ts'
import type { WhipReply } from '../types.ts'
import { requestWhip } from './proxy.ts'

let media: WhipMedia
let scene: NodeWithSinks
const clients: WhipClient[] = []
const openedSessions: OpenedSession[] = []
const TOKEN = hashOf('the token')
const NODE_KEY = Buffer.alloc(32, 7)

/** Media is sent in real time, also on a busy machine. */

beforeAll(async () => {
  media = await makeWhipMedia()
  scene = await startNodeWithSinks(
    [await startSink(), await startSink()],
    {},
    {
      whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() },
      preview: { host: '127.0.0.1', port: 0, key: NODE_KEY },
    },
  )
  scene.change({ whipHash: TOKEN })
})
afterAll(() => scene.close())
afterEach(async () => {
  for (const session of openedSessions.splice(0)) await deleteSession(session)
  for (const client of clients.splice(0)) client.close()
  await waitFor(() => ingest() === null)
  for (const sink of scene.sinks) for (const connection of sink.connections) connection.messages.length = 0
})

type OpenedSession = Extract<WhipReply, { session: string }>

async function offer(
  client: WhipClient,
  overrides: { keyHash?: string; normalise?: boolean } = {},
): Promise<WhipReply> {
  const { path } = scene.stream
  const request = {
    type: 'offer' as const,
    path,
    keyHash: TOKEN,
    remoteAddress: '127.0.0.1',
    normalise: false,
    ...overrides,
  }
  return scene.node.whip({ ...request, sdp: await client.offer() })
}

function newClient(options: Partial<WhipClientOptions> = {}): WhipClient {
  const client = new WhipClient({ media, ...options })
  clients.push(client)
  return client
}

/** Connects a client that sends media. */
async function publish(options: Partial<WhipClientOptions> & { normalise?: boolean } = {}) {
  const client = newClient(options)
  const reply = await offer(client, { normalise: options.normalise ?? false })
  if (!reply.ok || reply.session === undefined) throw new Error(`refused: ${JSON.stringify(reply)}`)
  openedSessions.push(reply)
  client.accept(reply.sdp)
  client.start()
  await waitFor(() => client.state === 'connected')
  return { client, reply }
}

const deleteSession = ({ session }: OpenedSession, keyHash = TOKEN) =>
  scene.node.whip({ type: 'delete', session, keyHash, path: scene.stream.path })
const trickle = ({ session }: OpenedSession, fragment: string, ifMatch?: readonly string[]) =>
  scene.node.whip({ type: 'trickle', session, keyHash: TOKEN, path: scene.stream.path, fragment, ifMatch })
const ingest = () => scene.node.status().streams[0]?.ingest ?? null
const frames = (index: number, kind: 'audio' | 'video') =>
  scene.sinks[index]!.messages(kind).filter(({ isSequenceHeader }) => !isSequenceHeader)

test('passes H.264 on unchanged, transcodes audio to AAC, and keeps both in sync', async () => {
  const { client, reply } = await publish()
  for (const index of [0, 1]) {
    await waitFor(() => frames(index, 'video').length > 60 && frames(index, 'audio').length > 60)
    expect(frames(index, 'video')[0]!.isKeyframe).toBe(true)
    const times = frames(index, 'video').map(({ timestamp }) => timestamp)
    const steps = times.slice(1).map((time, before) => time - times[before]!)
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(0)
    // Most of them, because a busy machine may lose a packet.
    const median = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)]
    expect([33, 34]).toContain(median)
  }
  expect(ingest()).toMatchObject({ videoCodec: 'h264', audioCodec: 'aac', width: 640, height: 360, source: 'primary' })
  const [video, audio] = (['video', 'audio'] as const).map(
    (kind) => () => scene.sinks[0]!.messages(kind).at(-1)!.timestamp,
  )
  // Audio arrives later than video because ffmpeg transcodes it.
  await waitFor(() => Math.abs(video!() - audio!()) < 300)
  expect(ingest()?.warnings).toEqual([])
  // The first keyframe was requested by PLI. Later ones come every two seconds without a request.
  expect(client.keyframeRequests).toBeGreaterThanOrEqual(1)
  expect(client.feedback).toContain(201)
  expect(await deleteSession(reply)).toEqual({ ok: true })
  expect(ingest()).toBeNull()
  expect(scene.node.status().whip?.sessions).toEqual([])
  expect(await deleteSession(reply)).toMatchObject({ ok: false, code: 'not_found' })
  expect(scene.events.filter(({ type }) => type === 'ingest.ended').at(-1)).toMatchObject({ reason: 'unpublished' })
})

test('accepts an offer without SSRCs (a=ssrc)', async () => {
  const { reply } = await publish({ anonymous: true })
  await waitFor(() => frames(0, 'video').length > 10 && frames(0, 'audio').length > 10)
  // Reception statistics of both tracks are sent once a second.
  await waitFor(() => scene.node.status().whip?.sessions[0]?.tracks.length === 2)
  await deleteSession(reply)
})

test('warns about video that was offered and does not come', async () => {
  const { reply } = await publish({ withholdsVideo: true })
  const warning = () => ingest()?.warnings.find(({ code }) => code === 'video_missing')
  // Tracks that were not announced get another message, and later.
  expect((await waitFor(warning)).message).toContain('although the encoder announced it')
  await deleteSession(reply)
})

test('keeps the connections to destinations when a client reconnects', async () => {
  const first = await publish()
  await waitFor(() => frames(0, 'video').length > 10)
  const connections = scene.sinks[0]!.connections.length
  await deleteSession(first.reply)
  const last = scene.sinks[0]!.messages('video').at(-1)!.timestamp
  scene.sinks[0]!.last()!.messages.length = 0
  const second = await publish()
  await waitFor(() => frames(0, 'video').length > 10)
  expect(frames(0, 'video')[0]!.timestamp).toBeGreaterThan(last)
  expect(scene.sinks[0]!.connections.length).toBe(connections)
  await deleteSession(second.reply)
})

test('refuses a second client while the first sends; an RTMP encoder takes over', async () => {
  const { client, reply } = await publish()
  await waitFor(() => ingest()?.videoCodec === 'h264')
  expect(await offer(newClient())).toMatchObject({ ok: false, code: 'busy' })
  const publisher = await scene.publish()
  const feed = new Feed(publisher).start()
  await waitFor(() => scene.node.status().whip?.sessions.length === 0)
  expect(await offer(newClient())).toMatchObject({ ok: false, code: 'busy' })
  expect(await deleteSession(reply)).toMatchObject({ ok: false, code: 'not_found' })
  client.close()
  feed.stop()
  publisher.close()
  await waitFor(() => ingest() === null)
})

test('refuses a wrong token, and ends the session when the token changes', async () => {
  expect(await offer(newClient(), { keyHash: hashOf('other') })).toMatchObject({ ok: false, code: 'unauthorized' })
  const { reply } = await publish()
  expect(await deleteSession(reply, hashOf('other'))).toMatchObject({ ok: false, code: 'unauthorized' })
  expect(
    await scene.node.whip({ type: 'delete', session: reply.session, keyHash: TOKEN, path: 'other' }),
  ).toMatchObject({
    code: 'not_found',
  })
  scene.change({ whipHash: hashOf('a new token') })
  await waitFor(() => scene.node.status().whip?.sessions.length === 0)
  scene.change({ whipHash: TOKEN })
})

test('accepts trickled candidates and refuses ICE restarts', async () => {
  const client = newClient()
  const sdp = await client.offer()
  const { path } = scene.stream
  const request = { type: 'offer' as const, path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false, sdp }
  const reply = (await scene.node.whip(request)) as OpenedSession
  const ufrag = /a=ice-ufrag:(\S+)/.exec(sdp)![1]!
  const fragment = `a=ice-ufrag:${ufrag}\r\na=ice-pwd:x\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n`
  expect(await trickle(reply, fragment)).toEqual({ ok: true })
  expect(await trickle(reply, fragment, ['other', reply.etag])).toEqual({ ok: true })
  expect(await trickle(reply, fragment, ['other'])).toMatchObject({ ok: false, code: 'changed' })
  expect(await trickle(reply, fragment.replace(ufrag, 'fresh'))).toMatchObject({ ok: false, code: 'restart' })
  expect(await trickle(reply, 'hello')).toMatchObject({ ok: false, code: 'malformed' })
  expect(await deleteSession(reply)).toEqual({ ok: true })
})

test.each([
  ['no SDP', 'hello', 'malformed'],
  ['only AV1', 'av1', 'unusable'],
])('refuses an offer with %s', async (_what, text, code) => {
  const sdp = text === 'av1' ? (await newClient().offer()).replaceAll('H264', 'AV1') : text
  const { path } = scene.stream
  const request = { type: 'offer' as const, path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false, sdp }
  expect(await scene.node.whip(request)).toMatchObject({ ok: false, code })
})

test('reports an offer that the WebRTC library rejects as malformed', async () => {
  const offered = await newClient().offer()
  const sdp = offered.replace(/a=fingerprint:.*/, `a=fingerprint:sha-999 ${'AB:'.repeat(31)}AB`)
  const { path } = scene.stream
  const request = { type: 'offer' as const, path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false, sdp }
  expect(await scene.node.whip(request)).toMatchObject({ ok: false, code: 'malformed' })
})

test('accepts a client that sends only audio', async () => {
  const { reply } = await publish({ video: false })
  await waitFor(() => ingest()?.audioCodec === 'aac')
  expect(ingest()?.videoCodec).toBeNull()
  await deleteSession(reply)
})

test('transcodes video to the default size on request', async () => {
  const { reply } = await publish({ normalise: true })
  await waitFor(() => frames(0, 'video').length > 30 && frames(0, 'audio').length > 30)
  // The status is updated after the first frames.
  await waitFor(() => ingest()?.width && ingest()?.audioCodec)
  expect(ingest()).toMatchObject({ videoCodec: 'h264', audioCodec: 'aac', width: 1_280, height: 720 })
  await deleteSession(reply)
})

test.each([
  ['dies', 'SIGKILL'],
  ['hangs', 'SIGSTOP'],
] as const)(
  'ends the sessions when the WHIP process %s, and starts a new process for the next client',
  async (_how, signal) => {
    const first = await publish()
    await waitFor(() => ingest()?.videoCodec === 'h264')
    const pid = scene.node.status().whip!.pid!
    process.kill(pid, signal)
    await waitFor(() => scene.node.status().whip?.sessions.length === 0)
    expect(scene.events.filter(({ type }) => type === 'ingest.ended').at(-1)).toMatchObject({
      reason: 'whip process lost',
    })
    const { streamId } = scene.stream
    const lost = { type: 'webrtc.lost', streamId, publishers: 1, viewers: 0 }
    expect(scene.events.filter(({ type }) => type === 'webrtc.lost').at(-1)).toEqual(lost)
    first.client.close()
    const second = await publish()
    await waitFor(() => ingest()?.videoCodec === 'h264')
    expect(scene.node.status().whip!.pid).not.toBe(pid)
    await deleteSession(second.reply)
  },
)

test('accepts requests from other nodes only with a valid ticket', async () => {
  const address = `127.0.0.1:${scene.node.status().previewPort}`
  const client = newClient()
  const { path } = scene.stream
  const request = { type: 'offer' as const, path, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false }
  const offerRequest = { ...request, sdp: await client.offer() }
  const reply = (await requestWhip(address, offerRequest, NODE_KEY)) as OpenedSession
  client.accept(reply.sdp)
  client.start()
  await waitFor(() => client.state === 'connected')
  expect(
    await requestWhip(address, { type: 'delete', path, keyHash: TOKEN, session: reply.session }, NODE_KEY),
  ).toEqual({
    ok: true,
  })
  await expect(requestWhip(address, offerRequest, Buffer.alloc(32, 8))).rejects.toThrow('401')
  expect((await fetch(`http://${address}/whip`, { method: 'POST', body: '{}' })).status).toBe(401)
})

test('logs a UDP port that is in use, and runs without WHIP', async () => {
  const taken = createSocket('udp4')
  taken.bind(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address()
  const other = await startNode([], {}, { whip: { host: '127.0.0.1', port } })
  expect(other.lines.join()).toContain(`port ${port} on 127.0.0.1 is taken: set WHIP_PORT to a free one`)
  expect(other.node.status().whip).toBeNull()
  const request = { type: 'offer' as const, keyHash: TOKEN, remoteAddress: '127.0.0.1', normalise: false, sdp: 'v=0' }
  expect(await other.node.whip({ ...request, path: scene.stream.path })).toMatchObject({ code: 'unavailable' })
  expect((await other.publish()).closed).toBeInstanceOf(Promise)
  await other.node.close()
  taken.close()
})

test('accepts clients over IPv6', async () => {
  const sink = await startSink()
  const other = await startNodeWithSinks([sink], {}, { whip: { host: '::1', port: 0, ffmpeg: await useFfmpeg() } })
  other.change({ whipHash: TOKEN })
  const client = newClient({ host: '::1' })
  const { path } = other.stream
  const request = { type: 'offer' as const, path, keyHash: TOKEN, remoteAddress: '::1', normalise: false }
  const reply = (await other.node.whip({ ...request, sdp: await client.offer() })) as OpenedSession
  expect(reply.sdp).toMatch(/a=candidate:.* ::1 \d+ typ host/)
  client.accept(reply.sdp)
  client.start()
  await waitFor(() => sink.messages('video').length > 5)
  await other.close()
})
