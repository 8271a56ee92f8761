import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { hashOf, QUICK, startScene, towards, type Scene } from '../testing/node-fixture.ts'
import { startSink, type Sink, type SinkConnection } from '../testing/sink.ts'
import type { RelayLimits } from './limits.ts'

let scene: Scene
let feed: Feed | undefined
afterEach(async () => {
  feed?.stop()
  await scene.close()
})

async function set(sinks: Sink[], limits: Partial<RelayLimits> = {}): Promise<void> {
  scene = await startScene(sinks, limits)
}

/** Publishes, waits for the destinations, and lets media flow from the first frame on. */
async function run(options: FeedOptions = {}): Promise<Feed> {
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

/** The states of a destination, without reports in which another figure changed: that its key has worked comes while it is live. */
function changesOf(id: string): string[] {
  return scene.states(id).filter((state, at, all) => state !== all[at - 1])
}

test('every destination gets every message, on the message stream that it gave out', async () => {
  await set([await startSink(), await startSink({ messageStreamId: 7 })])
  const media = await run()
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

test('a destination that is added gets configurations and the group under way at once, rebased to 0', async () => {
  await set([await startSink()], { maxBehindMs: 60_000 })
  const media = await run({ keyframeEveryMs: 60_000 })
  await waitFor(() => media.sent.length > 60)
  const late = await startSink()
  scene.change({ destinations: [towards(scene.sinks[0]!, 'd0'), towards(late, 'late')] })
  await waitFor(() => late.messages('video').length > 60)
  media.stop()
  const { messages, publishedAt } = late.last()!
  expect(messages.slice(0, 3).map(({ kind, isHeader, timestamp }) => [kind, isHeader, timestamp])).toEqual([
    ['data', true, 0],
    ['video', true, 0],
    ['audio', true, 0],
  ])
  const frames = late
    .last()!
    .of('video')
    .filter(({ isHeader }) => !isHeader)
  expect(frames[0]).toMatchObject({ isKeyframe: true, timestamp: 0 })
  // The next keyframe would come a minute later.
  expect(frames[0]!.at - publishedAt!).toBeLessThan(5_000)
  await waitFor(() => late.messages('video').length === media.of('video').length)
  expect(late.messages('video').map(({ checksum }) => checksum)).toEqual(media.of('video').map((one) => one.checksum))
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  await late.close()
})

test('removing or re-keying one destination leaves the others alone', async () => {
  await set([await startSink(), await startSink(), await startSink()])
  const media = await run()
  await waitFor(() => ['d0', 'd1', 'd2'].every((id) => scene.destination(id).state === 'live'))
  const [kept, rekeyed] = scene.stream.destinations
  scene.change({ destinations: [kept!, { ...rekeyed!, streamKey: 'another-key' }] })
  await waitFor(() => scene.sinks[1]!.last()!.streamKey === 'another-key')
  await waitFor(() => scene.sinks[2]!.last()!.closed)
  await waitFor(() => scene.destination('d1').state === 'live')
  const seen = media.sent.length
  await waitFor(() => media.sent.length > seen + 20)
  media.stop()
  const goodbye = scene.sinks[2]!.last()!.commands.map(({ name }) => name)
  expect(goodbye.slice(-2)).toEqual(['FCUnpublish', 'deleteStream'])
  expect(scene.states('d2').at(-1)).toBe('stopped')
  expect(scene.states('d1')).not.toContain('stopped')
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  await waitFor(() => scene.sinks[0]!.messages('audio').length === media.of('audio').length)
})

test('a destination that is added in a long group of pictures starts at the live edge, with the next keyframe', async () => {
  await set([await startSink()], { maxBehindMs: 500 })
  const media = await run({ keyframeEveryMs: 2_000 })
  await waitFor(() => media.sent.length > 60)
  const late = await startSink()
  scene.change({ destinations: [towards(scene.sinks[0]!, 'd0'), towards(late, 'late')] })
  await waitFor(() => late.messages('video').length > 20)
  media.stop()
  const keyframes = media.of('video').filter(({ timestamp }, at) => at > 0 && timestamp % 2_000 === 0)
  const [configuration, first] = late.messages('video')
  expect(configuration!.isHeader).toBe(true)
  expect(first!.isKeyframe).toBe(true)
  expect(keyframes.slice(1).map(({ checksum }) => checksum)).toContain(first!.checksum)
  // Sound is not held up by it.
  expect(late.messages('audio').length).toBeGreaterThan(late.messages('video').length)
})

test('applying the same state again changes nothing', async () => {
  await set([await startSink()])
  await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  const before = changesOf('d0')
  scene.change({ destinations: scene.stream.destinations.map((one) => ({ ...one })) })
  await waitFor(() => scene.sinks[0]!.messages('video').length > 50)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expect(changesOf('d0')).toEqual(before)
})

test('media goes out only while the stream is live, and only that time counts', async () => {
  await set([await startSink()])
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

test('a publisher that returns in time goes on over the same connections and timeline', async () => {
  await set([await startSink()], { holdMs: 20_000 })
  const media = await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  const last = media.of('video').at(-1)?.checksum
  await waitFor(() => scene.sinks[0]!.messages('video').at(-1)?.checksum === last)
  const first = scene.events.find(({ type }) => type === 'ingest.started')
  expect(first).toBeDefined()
  scene.node.status()
  await endPublisher()
  const publisher = await scene.publish()
  // A new encoder run: its clock begins anew, its first frames are no keyframes for a decoder to start with.
  publisher.video(0, Buffer.from('2701000000ffff', 'hex'))
  feed = new Feed(publisher, { startTimestamp: 40 }).start()
  const before = scene.sinks[0]!.messages('video').length
  await waitFor(() => scene.sinks[0]!.messages('video').length > before + 30)
  feed.stop()
  const connection = scene.sinks[0]!.last()!
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expect(isMonotonic(connection)).toBe(true)
  const resumed = connection.of('video').slice(before)
  expect(resumed[0]!.isHeader).toBe(true)
  expect(resumed[1]!.isKeyframe).toBe(true)
  // The second clock began behind the first: its times are moved as a whole, not held until they have caught up.
  for (const [index, { timestamp }] of resumed.slice(1).entries()) {
    expect(timestamp - resumed[1]!.timestamp).toBe(index * 20)
  }
  const audio = connection.of('audio').at(-1)!.timestamp
  const video = connection.of('video').at(-1)!.timestamp
  expect(Math.abs(audio - video)).toBeLessThanOrEqual(1)
  expect(changesOf('d0').filter((state) => state === 'live')).toHaveLength(1)
})

test('the hold counts from the last media, also of a publisher whose connection breaks without a word', async () => {
  const limits = { relay: { ...QUICK, holdMs: 60_000 }, ingest: { idleTimeoutMs: 4_000 } }
  scene = await startScene([await startSink()], {}, { limits })
  const media = await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  await waitFor(() => scene.node.status().streams[0]!.ingest === null, { timeoutMs: 10_000 })
  // A hold as long as the silence so far is over now. Counted from the end of the connection, it would last 4 s more.
  scene.change({ holdMs: performance.now() - media.sent.at(-1)!.at })
  await waitFor(() => scene.destination('d0').state === 'idle', { timeoutMs: 3_500 })
})

test('a publisher that stays away ends the connections in good order, and opens them when it comes', async () => {
  await set([await startSink()], { holdMs: 300, stallMs: 150 })
  const media = await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  media.stop()
  const endedAt = performance.now()
  await endPublisher()
  await waitFor(() => scene.sinks[0]!.last()!.closed)
  expect(performance.now() - endedAt).toBeGreaterThan(290)
  expect(scene.sinks[0]!.last()!.commands.at(-1)!.name).toBe('deleteStream')
  const { state, lastError } = scene.destination('d0')
  // Nothing was to be sent for twice the time after which a stalled connection is reset.
  expect([state, lastError]).toEqual(['idle', null])
  feed = new Feed(await scene.publish()).start()
  await waitFor(() => scene.destination('d0').state === 'live')
  expect(scene.sinks[0]!.connections).toHaveLength(2)
})

test('a new key drops the publisher of the old one and keeps the destinations', async () => {
  await set([await startSink()])
  const media = await run()
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

test('a removed stream loses its publisher and its connections', async () => {
  await set([await startSink()])
  await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  scene.node.remove(scene.stream.streamId)
  expect(scene.events.some((event) => event.type === 'ingest.ended' && event.reason === 'stream removed')).toBe(true)
  expect(scene.node.status()).toMatchObject({ streams: [] })
  await waitFor(() => scene.sinks[0]!.last()!.closed)
})

test('the query of a key goes to publish, that of the URL to the application, and no key anywhere else', async () => {
  const secret = 'FB-1234567890-0-AbCdEf?s_bl=1&s_ps=1&a=TopSecretValue'
  const sink = await startSink()
  await set([sink])
  const url = `rtmp://127.0.0.1:${sink.port}/live2/inner?backup=1`
  scene.change({ destinations: [{ id: 'd0', url, streamKey: secret }] })
  await run()
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

test('a destination that was promised media and got none is not live', async () => {
  await set([await startSink()])
  const publisher = await scene.publish()
  await waitFor(() => scene.sinks[0]!.last()?.publishedAt)
  scene.sinks[0]!.last()!.ping()
  await waitFor(() => scene.sinks[0]!.last()!.pongs === 1)
  expect(scene.destination('d0').state).toBe('publishing')
  feed = new Feed(publisher).start()
  await waitFor(() => scene.destination('d0').state === 'live')
})

test('pings are answered', async () => {
  await set([await startSink()])
  await run()
  await waitFor(() => scene.destination('d0').state === 'live')
  scene.sinks[0]!.last()!.ping()
  await waitFor(() => scene.sinks[0]!.last()!.pongs === 1)
})

test('closing a node sends what is queued and says goodbye', async () => {
  await set([await startSink()])
  const media = await run()
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
  'a publisher whose clock passes a limit at %i is relayed evenly',
  async (startTimestamp) => {
    await set([await startSink()])
    const media = await run({ startTimestamp })
    await waitFor(() => media.sent.length > 80)
    media.stop()
    await waitFor(() => scene.sinks[0]!.messages('video').length === media.of('video').length)
    const frames = scene.sinks[0]!.last()!.of('video').slice(1)
    for (const [index, { timestamp }] of frames.entries()) expect(timestamp - frames[0]!.timestamp).toBe(index * 20)
  },
)
