import { createServer } from 'node:net'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { FAST_LIMITS, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkOptions } from '../testing/sink.ts'
import type { RelayLimits } from './limits.ts'

/** About 48 Mb/s, which fills the kernel's buffers within two seconds. */
const FAST: FeedOptions = { videoBytes: 120_000 }
const MAX_QUEUED = 4 * 1024 * 1024
const STALL_MS = 5_000
const NO_ANSWER_MS = 1_000
const SHORT_TIMEOUTS = { ...FAST_LIMITS.timeouts, handshakeMs: NO_ANSWER_MS, publishMs: NO_ANSWER_MS }

let scene: NodeWithSinks
let feed: Feed
afterEach(async () => {
  feed.stop()
  await scene.close()
})

/** Starts two healthy destinations, `d0` and `d1`, and a faulty one, `d2`, and starts sending media. */
async function start(faulty: SinkOptions, options: FeedOptions = {}, limits: Partial<RelayLimits> = {}): Promise<Sink> {
  const sinks = [await startSink(), await startSink(), await startSink(faulty)]
  scene = await startNodeWithSinks(sinks, limits)
  const publisher = await scene.publish()
  await waitFor(() => sinks.slice(0, 2).every((sink) => sink.last()?.publishedAt))
  feed = new Feed(publisher, options).start()
  return sinks[2]!
}

/** Stops the feed and checks that the healthy destinations received everything on time. */
async function expectHealthyUnaffected(): Promise<void> {
  feed.stop()
  for (const sink of scene.sinks.slice(0, 2)) {
    for (const kind of ['audio', 'video'] as const) {
      const sent = feed.of(kind)
      await waitFor(() => sink.messages(kind).length >= sent.length)
      const received = sink.messages(kind)
      expect(received.map(({ checksum }) => checksum)).toEqual(sent.map(({ checksum }) => checksum))
      const late = received.map(({ at }, index) => at - sent[index]!.at)
      // If a stalled destination delayed others, the delay would be the whole STALL_MS. A busy machine adds far less.
      expect(Math.max(...late)).toBeLessThan(0.8 * STALL_MS)
    }
    expect(sink.connections).toHaveLength(1)
  }
  for (const id of ['d0', 'd1']) {
    await waitFor(() => scene.destination(id).state === 'live')
    expect(scene.destination(id)).toMatchObject({ droppedAudio: 0, droppedVideo: 0, reconnects: 0 })
  }
}

test('a rejected key is tried three times and then needs attention', async () => {
  const sink = await start({ refuse: { code: 'NetStream.Publish.BadName', description: 'unknown\u0007 stream' } })
  await waitFor(() => scene.destination('d2').state === 'needs_attention')
  expect(sink.connections).toHaveLength(3)
  expect(scene.destination('d2').lastError).toMatchObject({
    code: 'rejected',
    message: 'The server refused the stream (NetStream.Publish.BadName: unknown stream).',
  })
  expect(scene.destination('d2').nextRetryAt).toBeNull()
  const seen = feed.sent.length
  await waitFor(() => feed.sent.length > seen + 60)
  expect(sink.connections).toHaveLength(3)
  sink.behaviour.refuse = undefined
  scene.node.retry('stream-1', 'd2')
  await waitFor(() => scene.destination('d2').state === 'live')
  await expectHealthyUnaffected()
})

test('a rejected connect counts as a rejected key, a busy server does not', async () => {
  const sink = await start({ refuseConnect: { code: 'NetConnection.Connect.Failed', description: 'busy' } })
  await waitFor(() => sink.connections.length > 4)
  expect(scene.destination('d2').lastError!.code).toBe('closed_by_peer')
  sink.behaviour.refuseConnect = { code: 'NetConnection.Connect.Rejected', description: '[code=403 need auth]' }
  await waitFor(() => scene.destination('d2').state === 'needs_attention')
  expect(scene.destination('d2').lastError!.code).toBe('rejected')
  await expectHealthyUnaffected()
})

test('a new key is tried at once after a rejected one', async () => {
  const sink = await start({ refuse: { code: 'NetStream.Publish.BadName' } })
  await waitFor(() => scene.destination('d2').state === 'needs_attention')
  sink.behaviour.refuse = undefined
  const [first, second, third] = scene.stream.destinations
  scene.change({ destinations: [first!, second!, { ...third!, streamKey: 'good-key' }] })
  await waitFor(() => scene.destination('d2').state === 'live')
  expect(sink.last()!.streamKey).toBe('good-key')
  await expectHealthyUnaffected()
})

test('a server that stops reading is detected, uses limited memory, and is reconnected', async () => {
  const sink = await start({}, FAST, { stallMs: STALL_MS })
  await waitFor(() => scene.destination('d2').state === 'live')
  const stalled = sink.last()!
  stalled.stall()
  let queued = 0
  await waitFor(() => {
    queued = Math.max(queued, scene.destination('d2').queuedBytes)
    return scene.destination('d2').lastError?.code === 'stalled'
  })
  expect(queued).toBeGreaterThan(0)
  expect(queued).toBeLessThanOrEqual(MAX_QUEUED)
  await waitFor(() => sink.connections.length === 2 && scene.destination('d2').state === 'live')
  await waitFor(() => sink.last()!.of('video').length > 20)
  expect(sink.last()!.of('video')[0]!.isSequenceHeader).toBe(true)
  expect(sink.last()!.of('video')[1]!.isKeyframe).toBe(true)
  await expectHealthyUnaffected()
})

test('a slow server loses whole GOPs but no audio, and timestamps never go back', async () => {
  const sink = await start({ bytesPerSecond: 1_500_000 }, FAST)
  await waitFor(() => scene.destination('d2').state === 'congested')
  await waitFor(() => scene.destination('d2').droppedVideo > 60)
  expect(scene.destination('d2').queuedBytes).toBeLessThanOrEqual(MAX_QUEUED)
  sink.behaviour.bytesPerSecond = undefined
  await waitFor(() => scene.destination('d2').state === 'live')
  feed.stop()
  await waitFor(() => sink.messages('audio').length === feed.of('audio').length)
  const { droppedVideo, droppedAudio, reconnects } = scene.destination('d2')
  expect([droppedAudio, reconnects]).toEqual([0, 0])
  expect(sink.messages('audio').map((one) => one.checksum)).toEqual(feed.of('audio').map((one) => one.checksum))
  const video = sink.last()!.of('video')
  expect(video).toHaveLength(feed.of('video').length - droppedVideo)
  const order = new Map(feed.of('video').map(({ checksum }, index) => [checksum, index]))
  for (const [index, message] of video.entries()) {
    if (index === 0) continue
    const before = video[index - 1]!
    expect(message.timestamp).toBeGreaterThanOrEqual(before.timestamp)
    const continues = order.get(message.checksum) === order.get(before.checksum)! + 1
    if (!continues) expect(message.isKeyframe).toBe(true)
  }
  const base = video[1]!.timestamp
  const sentAt = (checksum: number) => feed.of('video')[order.get(checksum)!]!.timestamp
  for (const { checksum, timestamp } of video.slice(1)) expect(timestamp - base).toBe(sentAt(checksum))
  await expectHealthyUnaffected()
})

test('a server that closes the connection is reconnected within half a second each time', async () => {
  const sink = await start({})
  const backoffs = () =>
    scene.events.flatMap((event) =>
      event.type === 'destination.changed' && event.destination.id === 'd2' && event.destination.state === 'backoff'
        ? [event.destination]
        : [],
    )
  for (let round = 0; round < 3; round++) {
    await waitFor(() => scene.destination('d2').state === 'live')
    const closedAt = performance.now()
    if (round === 1) sink.resetConnections()
    else sink.closeConnections()
    await waitFor(() => backoffs().length === round + 1)
    expect(scene.destination('d2').lastError!.code).toMatch(/^closed_/)
    await waitFor(() => (sink.last()!.publishedAt ?? 0) > closedAt)
    // Compares the chosen delay, because the actual time depends on the machine.
    const { nextRetryAt, since } = backoffs()[round]!
    expect(Date.parse(nextRetryAt ?? '') - Date.parse(since)).toBeLessThanOrEqual(FAST_LIMITS.backoff.maxMs)
  }
  await waitFor(() => scene.destination('d2').reconnects === 3)
  await expectHealthyUnaffected()
})

test.each(['at publish', 'at media'] as const)(
  'a server that closes %s three times is retried, with the hint that the key may be wrong',
  async (closes) => {
    const sink = await start({ closes })
    await waitFor(() => scene.destination('d2').lastError?.hint !== undefined)
    expect(sink.connections).toHaveLength(3)
    expect(scene.destination('d2').lastError).toMatchObject({
      code: 'closed_on_publish',
      hint: expect.stringMatching(/3 times in a row.*stream key and the application/),
    })
    expect(scene.destination('d2')).toMatchObject({ hasWorked: false })
    sink.behaviour.closes = undefined
    await waitFor(() => scene.destination('d2').state === 'live')
    await expectHealthyUnaffected()
  },
)

test('a key that has worked is retried while the server keeps the old session', async () => {
  const sink = await start({ keepsSessions: true })
  await waitFor(() => scene.destination('d2').hasWorked)
  sink.resetConnections()
  await waitFor(() => sink.connections.length > 5)
  expect(scene.states('d2')).not.toContain('needs_attention')
  expect(scene.destination('d2').lastError).toMatchObject({
    code: 'rejected',
    hint: expect.stringContaining('previous session'),
  })
  sink.behaviour.keepsSessions = false
  await waitFor(() => scene.destination('d2').state === 'live')
  await expectHealthyUnaffected()
})

test('a server that accepts connections and does not answer is retried after each time-out', async () => {
  const sink = await start({ blackhole: true }, {}, { timeouts: SHORT_TIMEOUTS })
  await waitFor(() => sink.connections.length > 1)
  expect(scene.destination('d2').lastError).toMatchObject({ code: 'handshake_failed' })
  sink.behaviour.blackhole = false
  sink.behaviour.ignorePublish = true
  await waitFor(() => scene.destination('d2').lastError!.code === 'publish_timeout')
  expect(scene.states('d2')).not.toContain('live')
  await expectHealthyUnaffected()
})

test('a server that sends no RTMP acknowledgements is live by TCP progress, and stays live', async () => {
  const sink = await start({ neverAcknowledge: true }, {}, { stallMs: 2_000 })
  await waitFor(() => scene.destination('d2').state === 'live')
  const seen = feed.sent.length
  await waitFor(() => feed.sent.length > seen + 200)
  const { state, bytesSent, bytesAcknowledged, reconnects } = scene.destination('d2')
  expect([state, reconnects]).toEqual(['live', 0])
  expect(bytesAcknowledged).toBeGreaterThan(0)
  expect(bytesAcknowledged).toBeLessThanOrEqual(bytesSent)
  expect(sink.connections).toHaveLength(1)
  await expectHealthyUnaffected()
})

test('distinguishes an unreachable server from one that does not use RTMP', async () => {
  const sink = await start({})
  const httpServer = createServer((socket) => {
    socket.on('error', () => {})
    socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')
  }).listen(0, '127.0.0.1')
  await once(httpServer, 'listening')
  const { port } = httpServer.address() as { port: number }
  const [first, second, third] = scene.stream.destinations
  scene.change({ destinations: [first!, second!, { ...third!, url: `rtmp://127.0.0.1:${port}/live` }] })
  await waitFor(() => scene.destination('d2').lastError?.code === 'handshake_failed')
  httpServer.close()
  await once(httpServer, 'close')
  await waitFor(() => scene.destination('d2').lastError?.code === 'connection_refused')
  scene.change({ destinations: [first!, second!, { ...third!, url: 'rtmp://name.invalid/live' }] })
  await waitFor(() => scene.destination('d2').lastError?.code === 'dns_failed')
  await sink.close()
  await expectHealthyUnaffected()
})

test('all faults at once do not affect healthy destinations', async () => {
  const closing = await start({}, { videoBytes: 30_000 }, { stallMs: STALL_MS })
  const others = [
    await startSink({ refuse: { code: 'NetStream.Publish.BadName' } }),
    await startSink({ blackhole: true }),
    await startSink({ bytesPerSecond: 500_000 }),
    await startSink(),
  ]
  const extra = others.map((sink, index) => ({
    id: `x${index}`,
    url: `rtmp://127.0.0.1:${sink.port}/live`,
    streamKey: 'key',
  }))
  scene.change({ destinations: [...scene.stream.destinations, ...extra] })
  const stalling = others[3]!
  await waitFor(() => scene.destination('x3').state === 'live')
  stalling.last()!.stall()
  closing.resetConnections()
  await waitFor(() => scene.destination('x3').lastError?.code === 'stalled')
  await waitFor(() => scene.destination('x0').state === 'needs_attention')
  await expectHealthyUnaffected()
  for (const sink of others) await sink.close()
})
