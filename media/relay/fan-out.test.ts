import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { hashOf, FAST_LIMITS, startNodeWithSinks, destinationTo, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkConnection } from '../testing/sink.ts'
import type { RelayLimits } from './limits.ts'

let scene: NodeWithSinks
let feed: Feed | undefined
afterEach(async () => {
  feed?.stop()
  await scene.close()
})

async function start(sinks: Sink[], limits: Partial<RelayLimits> = {}): Promise<void> {
  scene = await startNodeWithSinks(sinks, limits)
}

/** Connects a publisher, waits for the destinations, and starts sending media. */
async function publish(options: FeedOptions = {}): Promise<Feed> {
  const publisher = await scene.publish()
  await waitFor(() => scene.sinks.every((sink) => sink.last()?.publishedAt))
  feed = new Feed(publisher, options).start()
  return feed
}

function isMonotonic(connection: SinkConnection): boolean {
  return (['audio', 'video'] as const).every((kind) =>
    connection.of(kind).every(({ timestamp }, at, all) => at === 0 || timestamp >= all[at - 1]!.timestamp),
  )
}

/** The states of a destination. Reports in which only another field changed, such as `hasWorked`, are left out. */
function changesOf(id: string): string[] {
  return scene.states(id).filter((state, at, all) => state !== all[at - 1])
}

test('every destination gets every message, on its own message stream id', async () => {
  await start([await startSink(), await startSink({ messageStreamId: 7 })])
  const media = await publish()
  await waitFor(() => media.sent.length > 100)
  media.stop()
  for (const sink of scene.sinks) {
    await waitFor(() => sink.messages('audio').length === media.of('audio').length)
    for (const kind of ['audio', 'video'] as const) {
      expect(sink.messages(kind).map(({ checksum }) => checksum)).toEqual(
        media.of(kind).map(({ checksum }) => checksum),
      )
      const frames = sink.messages(kind).slice(1)
      const start = frames[0]!.timestamp
      expect(frames.map(({ timestamp }) => timestamp - start)).toEqual(
        media
          .of(kind)
          .slice(1)
          .map(({ timestamp }) => timestamp),
      )
    }
    expect(sink.messages('data')).toHaveLength(1)
  }
  expect(new Set(scene.sinks[1]!.messages().map(({ streamId }) => streamId))).toEqual(new Set([7]))
  const status = scene.destination('d0')
  expect(status.state).toBe('live')
  expect(status.droppedVideo + status.droppedAudio).toBe(0)
  expect(status.bytesSent).toBeGreaterThan(media.of('video').length * 5_000)
  await waitFor(() => scene.destination('d0').bytesAcknowledged > 0)
  expect(scene.destination('d0').bytesAcknowledged).toBeLessThanOrEqual(scene.destination('d0').bytesSent)
})

test('a destination that is added gets the configurations and the current GOP at once, starting at 0', async () => {
  await start([await startSink()], { maxBehindMs: 60_000 })
  const media = await publish({ keyframeEveryMs: 60_000 })
  await waitFor(() => media.sent.length > 60)
  const late = await startSink()
  scene.change({ destinations: [destinationTo(scene.sinks[0]!, 'd0'), destinationTo(late, 'late')] })
  await waitFor(() => late.messages('video').length > 60)
  media.stop()
  const { messages, publishedAt } = late.last()!
  expect(
    messages.slice(0, 3).map(({ kind, isSequenceHeader, timestamp }) => [kind, isSequenceHeader, timestamp]),
  ).toEqual([
    ['data', true, 0],
    ['video', true, 0],
    ['audio', true, 0],
  ])
  const frames = late
    .last()!
    .of('video')
    .filter(({ isSequenceHeader }) => !isSequenceHeader)
  expect(frames[0]).toMatchObject({ isKeyframe: true, timestamp: 0 })
  // The next keyframe follows a minute later.
  expect(frames[0]!.at - publishedAt!).toBeLessThan(30_000)
  await waitFor(() => late.messages('video').length === media.of('video').length)
  expect(late.messages('video').map(({ checksum }) => checksum)).toEqual(media.of('video').map((one) => one.checksum))
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  await late.close()
})

test('removing or re-keying one destination does not affect the others', async () => {
  await start([await startSink(), await startSink(), await startSink()])
  const media = await publish()
  await waitFor(() => ['d0', 'd1', 'd2'].every((id) => scene.destination(id).state === 'live'))
  const [kept, rekeyed] = scene.stream.destinations
  scene.change({ destinations: [kept!, { ...rekeyed!, streamKey: 'another-key' }] })
  await waitFor(() => scene.sinks[1]!.last()!.streamKey === 'another-key')
  await waitFor(() => scene.sinks[2]!.last()!.closed)
  await waitFor(() => scene.destination('d1').state === 'live')
  const seen = media.sent.length
  await waitFor(() => media.sent.length > seen + 20)
  media.stop()
  const commands = scene.sinks[2]!.last()!.commands.map(({ name }) => name)
  expect(commands.slice(-2)).toEqual(['FCUnpublish', 'deleteStream'])
  expect(scene.states('d2').at(-1)).toBe('stopped')
  expect(scene.states('d1')).not.toContain('stopped')
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  await waitFor(() => scene.sinks[0]!.messages('audio').length === media.of('audio').length)
})

test('a destination that is added during a long GOP starts at the live edge, with the next keyframe', async () => {
  await start([await startSink()], { maxBehindMs: 500 })
  const media = await publish({ keyframeEveryMs: 2_000 })
  await waitFor(() => media.sent.length > 60)
  const late = await startSink()
  scene.change({ destinations: [destinationTo(scene.sinks[0]!, 'd0'), destinationTo(late, 'late')] })
  await waitFor(() => late.messages('video').length > 20)
  media.stop()
  const keyframes = media.of('video').filter(({ timestamp }, at) => at > 0 && timestamp % 2_000 === 0)
  const [configuration, first] = late.messages('video')
  expect(configuration!.isSequenceHeader).toBe(true)
  expect(first!.isKeyframe).toBe(true)
  expect(keyframes.slice(1).map(({ checksum }) => checksum)).toContain(first!.checksum)
  // Audio does not wait for the keyframe.
  expect(late.messages('audio').length).toBeGreaterThan(late.messages('video').length)
})

test('applying the same state again changes nothing', async () => {
  await start([await startSink()])
  await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  const before = changesOf('d0')
  scene.change({ destinations: scene.stream.destinations.map((one) => ({ ...one })) })
  await waitFor(() => scene.sinks[0]!.messages('video').length > 50)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expect(changesOf('d0')).toEqual(before)
})

test('media is relayed only while the stream is live, and only that time counts as usage', async () => {
  await start([await startSink()])
  scene.change({ live: false })
  const publisher = await scene.publish()
  feed = new Feed(publisher).start()
  await waitFor(() => feed!.sent.length > 30)
  expect(scene.sinks[0]!.connections).toHaveLength(0)
  expect(scene.node.status().streams[0]!.liveMs).toBe(0)
  scene.change({ live: true })
  await waitFor(() => scene.destination('d0').state === 'live')
  await waitFor(() => scene.node.status().streams[0]!.liveMs > 300)
  scene.change({ live: false })
  await waitFor(() => scene.sinks[0]!.last()!.closed)
  const { liveMs } = scene.node.status().streams[0]!
  expect(scene.destination('d0').state).toBe('stopped')
  const seen = feed.sent.length
  await waitFor(() => feed!.sent.length > seen + 20)
  expect(scene.node.status().streams[0]!.liveMs).toBe(liveMs)
  const usage = scene.events.filter((event) => event.type === 'usage')
  expect(usage.at(-1)!.liveMs).toBe(liveMs)
  expect(usage.every((event, at) => at === 0 || event.liveMs >= usage[at - 1]!.liveMs)).toBe(true)
})

test('a publisher that returns during the hold continues on the same connections and timeline', async () => {
  await start([await startSink()], { holdMs: 20_000 })
  const media = await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  const last = media.of('video').at(-1)?.checksum
  await waitFor(() => scene.sinks[0]!.messages('video').at(-1)?.checksum === last)
  const first = scene.events.find(({ type }) => type === 'ingest.started')
  expect(first).toBeDefined()
  scene.node.status()
  await endPublisher()
  const publisher = await scene.publish()
  // The restarted encoder has a new clock, and its first frame is not a keyframe.
  publisher.video(0, Buffer.from('2701000000ffff', 'hex'))
  feed = new Feed(publisher, { startTimestamp: 40 }).start()
  const before = scene.sinks[0]!.messages('video').length
  await waitFor(() => scene.sinks[0]!.messages('video').length > before + 30)
  feed.stop()
  const connection = scene.sinks[0]!.last()!
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expect(isMonotonic(connection)).toBe(true)
  const resumed = connection.of('video').slice(before)
  expect(resumed[0]!.isSequenceHeader).toBe(true)
  expect(resumed[1]!.isKeyframe).toBe(true)
  // The second clock starts before the end of the first one. All its timestamps are shifted by one offset.
  for (const [index, { timestamp }] of resumed.slice(1).entries()) {
    expect(timestamp - resumed[1]!.timestamp).toBe(index * 20)
  }
  const audio = connection.of('audio').at(-1)!.timestamp
  const video = connection.of('video').at(-1)!.timestamp
  expect(Math.abs(audio - video)).toBeLessThanOrEqual(1)
  expect(changesOf('d0').filter((state) => state === 'live')).toHaveLength(1)
})

test('the hold counts from the last frame, also when the connection of the publisher is half-open', async () => {
  const limits = { relay: { ...FAST_LIMITS, holdMs: 60_000 }, ingest: { idleTimeoutMs: 6_000 } }
  scene = await startNodeWithSinks([await startSink()], {}, { limits })
  const media = await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  await waitFor(() => scene.node.status().streams[0]!.ingest === null)
  // This hold has just ended, counted from the last frame. Counted from the disconnect, it would last 6 s longer.
  scene.change({ holdMs: performance.now() - media.sent.at(-1)!.at })
  await waitFor(() => scene.destination('d0').state === 'idle', { timeoutMs: 5_000 })
})

test('connections are unpublished after the hold, and opened again when a publisher connects', async () => {
  await start([await startSink()], { holdMs: 300, stallMs: 150 })
  const media = await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  await endPublisher()
  await waitFor(() => scene.sinks[0]!.last()!.closed)
  // The hold counts from the last frame, which can be older than the stop of the media.
  expect(performance.now() - media.sent.at(-1)!.at).toBeGreaterThan(290)
  expect(scene.sinks[0]!.last()!.commands.at(-1)!.name).toBe('deleteStream')
  const { state, lastError } = scene.destination('d0')
  // There was nothing to send for twice `stallMs`, which must not count as a stall.
  expect([state, lastError]).toEqual(['idle', null])
  feed = new Feed(await scene.publish()).start()
  await waitFor(() => scene.destination('d0').state === 'live')
  expect(scene.sinks[0]!.connections).toHaveLength(2)
})

test('a new key drops the publisher with the old key and keeps the destinations connected', async () => {
  await start([await startSink()])
  const media = await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  const key = newKey(scene.stream.path)
  scene.change({ keyHash: hashOf(key) })
  expect(scene.events.at(-1)).toMatchObject({ type: 'ingest.ended', reason: 'key changed' })
  media.stop()
  const seen = scene.sinks[0]!.messages().length
  feed = new Feed(await scene.publish(key)).start()
  await waitFor(() => scene.sinks[0]!.messages().length > seen + 20)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
})

test('removing a stream drops its publisher and its connections', async () => {
  await start([await startSink()])
  await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  scene.node.remove(scene.stream.streamId)
  expect(scene.events.some((event) => event.type === 'ingest.ended' && event.reason === 'stream removed')).toBe(true)
  expect(scene.node.status()).toMatchObject({ streams: [] })
  await waitFor(() => scene.sinks[0]!.last()!.closed)
})

test('sends the query of the key with publish and that of the URL with the application, and the key nowhere else', async () => {
  const secret = 'FB-1234567890-0-AbCdEf?s_bl=1&s_ps=1&a=TopSecretValue'
  const sink = await startSink()
  await start([sink])
  const url = `rtmp://127.0.0.1:${sink.port}/live2/inner?backup=1`
  scene.change({ destinations: [{ id: 'd0', url, streamKey: secret }] })
  await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  const connection = sink.last()!
  expect(connection.streamKey).toBe(secret)
  expect(connection.connectObject).toMatchObject({ app: 'live2/inner?backup=1', tcUrl: url })
  for (const { name, values } of connection.commands) {
    if (name !== 'publish' && name !== 'releaseStream' && name !== 'FCPublish') {
      expect(JSON.stringify(values)).not.toContain('AbCdEf')
    }
  }
  sink.behaviour.refuse = { code: 'NetStream.Publish.BadName', description: `${secret} and TopSecretValue are bad` }
  sink.closeConnections()
  await waitFor(() => scene.destination('d0').state === 'needs_attention')
  const all = `${scene.lines.join('\n')}${JSON.stringify(scene.events)}${JSON.stringify(scene.node.status())}`
  for (const part of ['AbCdEf', 'TopSecretValue']) expect(all).not.toContain(part)
  expect(scene.destination('d0').lastError!.message).toBe(
    'The server refused the stream (NetStream.Publish.BadName: [key] and [key] are bad).',
  )
})

test('a destination that has received no media yet is not live', async () => {
  await start([await startSink()])
  const publisher = await scene.publish()
  await waitFor(() => scene.sinks[0]!.last()?.publishedAt)
  scene.sinks[0]!.last()!.ping()
  await waitFor(() => scene.sinks[0]!.last()!.pongs === 1)
  expect(scene.destination('d0').state).toBe('publishing')
  feed = new Feed(publisher).start()
  await waitFor(() => scene.destination('d0').state === 'live')
})

test('answers pings', async () => {
  await start([await startSink()])
  await publish()
  await waitFor(() => scene.destination('d0').state === 'live')
  scene.sinks[0]!.last()!.ping()
  await waitFor(() => scene.sinks[0]!.last()!.pongs === 1)
})

test('closing a node sends queued media and unpublishes', async () => {
  await start([await startSink()])
  const media = await publish()
  await waitFor(() => media.sent.length > 50)
  media.stop()
  await waitFor(() => scene.sinks[0]!.messages('audio').length > 20)
  await scene.node.close()
  await waitFor(() => scene.sinks[0]!.last()!.closed)
  expect(scene.sinks[0]!.last()!.commands.at(-1)!.name).toBe('deleteStream')
})

async function endPublisher(): Promise<void> {
  const ended = () => scene.events.filter(({ type }) => type === 'ingest.ended').length
  const before = ended()
  feed!.publisher.close()
  await waitFor(() => ended() > before)
}

test.each([0xff_ffff - 300, 0x1_0000_0000 - 300])(
  'a publisher whose timestamps pass %i is relayed with even timestamps',
  async (startTimestamp) => {
    await start([await startSink()])
    const media = await publish({ startTimestamp })
    await waitFor(() => media.sent.length > 80)
    media.stop()
    await waitFor(() => scene.sinks[0]!.messages('video').length === media.of('video').length)
    const frames = scene.sinks[0]!.last()!.of('video').slice(1)
    for (const [index, { timestamp }] of frames.entries()) expect(timestamp - frames[0]!.timestamp).toBe(index * 20)
  },
)
