import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type SinkConnection, type SinkMessage } from '../testing/sink.ts'
import type { IngestStatus } from '../types.ts'

let scene: NodeWithSinks
let feeds: Feed[] = []
afterEach(async () => {
  for (const feed of feeds.splice(0)) feed.stop().publisher.close()
  await scene.close()
})

const BACKUP = newKey('pathofthebackup')

async function startWithBackup(): Promise<void> {
  scene = await startNodeWithSinks([await startSink()])
  scene.change({ backup: { path: 'pathofthebackup', keyHash: hashOf(BACKUP) } })
}

async function publish(key: string, options: FeedOptions = {}): Promise<Feed> {
  const feed = new Feed(await scene.publish(key), options).start()
  feeds.push(feed)
  return feed
}

const status = () => scene.node.status().streams[0]!
const sourceOf = (one: IngestStatus | null) => one?.source ?? null
const connection = (): SinkConnection => scene.sinks[0]!.last()!
const sentBy = (feed: Feed, messages: readonly SinkMessage[]) => {
  const sums = new Set(feed.of('video').map(({ checksum }) => checksum))
  return messages.filter(({ checksum }) => sums.has(checksum))
}

/** Checks that timestamps on a connection never go back and have no long gap. */
function expectContinuous(one: SinkConnection): void {
  for (const kind of ['audio', 'video'] as const) {
    const times = one.of(kind).map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted((left, right) => left - right))
    const gaps = times.slice(1).map((time, at) => time - times[at]!)
    // More than ten times as long as it takes here until the other publisher takes over.
    expect(Math.max(...gaps)).toBeLessThan(20_000)
  }
}

test('the backup takes over from its keyframe, over the same connection, when the primary disconnects', async () => {
  await startWithBackup()
  const first = await publish(scene.key, { videoBytes: 3_000, keyframeEveryMs: 400 })
  await waitFor(() => scene.destination('d0').state === 'live')
  const second = await publish(BACKUP, { startTimestamp: 5_000_000, videoBytes: 4_000, keyframeEveryMs: 60_000 })
  await waitFor(() => sourceOf(status().standby) === 'backup')
  await waitFor(() => second.of('video').length > 30)
  expect(sentBy(second, connection().messages).filter(({ isSequenceHeader }) => !isSequenceHeader)).toEqual([])
  first.stop().publisher.socket.resetAndDestroy()
  await waitFor(() => sentBy(second, connection().messages).some(({ isKeyframe }) => isKeyframe))
  await waitFor(() => sentBy(second, connection().of('video')).length > 60)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expectContinuous(connection())
  // The backup sent its only keyframe before the disconnect. Its GOP was buffered, and its configuration is unchanged.
  expect(
    connection()
      .of('video')
      .filter(({ isSequenceHeader }) => isSequenceHeader),
  ).toHaveLength(1)
  expect(
    sentBy(second, connection().of('video')).filter(({ isSequenceHeader }) => !isSequenceHeader)[0]?.isKeyframe,
  ).toBe(true)
  expect([sourceOf(status().ingest), sourceOf(status().standby)]).toEqual(['backup', null])
  const types = scene.events.flatMap((event) => (event.type.startsWith('ingest.') ? [event.type] : []))
  expect(types).toEqual(['ingest.started', 'ingest.started', 'ingest.ended'])
})

test('the backup takes over from a publisher that sends nothing, which stays on standby until the backup fails', async () => {
  await startWithBackup()
  const first = await publish(scene.key, { videoBytes: 3_000, keyframeEveryMs: 400 })
  await waitFor(() => scene.destination('d0').state === 'live')
  const second = await publish(BACKUP, { videoBytes: 4_000, keyframeEveryMs: 400 })
  await waitFor(() => sourceOf(status().standby) === 'backup')
  first.stop()
  await waitFor(() => sourceOf(status().ingest) === 'backup')
  expect(sourceOf(status().standby)).toBe('primary')
  const usages = () => scene.events.flatMap((event) => (event.type === 'usage' ? [event] : []))
  const before = Math.max(...usages().map(({ liveMs }) => liveMs))
  const { sessionId } = status().standby!
  first.start()
  await waitFor(() => first.of('video').length > 20)
  expect(sourceOf(status().ingest)).toBe('backup')
  second.stop().publisher.close()
  await waitFor(() => sourceOf(status().ingest) === 'primary')
  // The usage of the primary continues from its earlier value.
  await waitFor(() => usages().some((usage) => usage.sessionId === sessionId && usage.liveMs > before + 100))
  const seen = sentBy(second, connection().of('video')).length
  await waitFor(() => connection().of('video').length > seen + 100)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expectContinuous(connection())
})

test('the backup feeds the stream alone, and new keys drop both publishers', async () => {
  await startWithBackup()
  const second = await publish(BACKUP)
  await waitFor(() => scene.destination('d0').state === 'live')
  expect(sourceOf(status().ingest)).toBe('backup')
  const first = await publish(scene.key)
  await waitFor(() => sourceOf(status().standby) === 'primary')
  scene.change({ keyHash: hashOf(newKey()), backup: { path: 'pathofthebackup', keyHash: hashOf(newKey()) } })
  await Promise.all([first.publisher.closed, second.publisher.closed])
  expect([status().ingest, status().standby]).toEqual([null, null])
})
