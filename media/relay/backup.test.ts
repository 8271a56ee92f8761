import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed, type FeedOptions } from '../testing/feed.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { hashOf, startScene, type Scene } from '../testing/node-fixture.ts'
import { startSink, type SinkConnection, type SinkMessage } from '../testing/sink.ts'
import type { IngestStatus } from '../types.ts'

let scene: Scene
let feeds: Feed[] = []
afterEach(async () => {
  for (const feed of feeds.splice(0)) feed.stop().publisher.close()
  await scene.close()
})

const BACKUP = newKey('pathofthebackup')

async function set(): Promise<void> {
  scene = await startScene([await startSink()])
  scene.change({ backup: { path: 'pathofthebackup', keyHash: hashOf(BACKUP) } })
}

async function publish(key: string, options: FeedOptions = {}): Promise<Feed> {
  const feed = new Feed(await scene.publish(key), options).start()
  feeds.push(feed)
  return feed
}

const status = () => scene.node.status().streams[0]!
const roleOf = (one: IngestStatus | null) => one?.source ?? null
const connection = (): SinkConnection => scene.sinks[0]!.last()!
const cameFrom = (feed: Feed, messages: readonly SinkMessage[]) => {
  const sums = new Set(feed.of('video').map(({ checksum }) => checksum))
  return messages.filter(({ checksum }) => sums.has(checksum))
}

/** What a player must be able to rely on, over all that one connection has carried. */
function expectUnbroken(one: SinkConnection): void {
  for (const kind of ['audio', 'video'] as const) {
    const times = one.of(kind).map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted((left, right) => left - right))
    const gaps = times.slice(1).map((time, at) => time - times[at]!)
    // The other publisher takes over after half a second here. The rest is for a busy machine.
    expect(Math.max(...gaps)).toBeLessThan(4_000)
  }
}

test('a second publisher takes over when the first is cut off, from a keyframe, over the same connection', async () => {
  await set()
  const first = await publish(scene.key, { videoBytes: 3_000, keyframeEveryMs: 400 })
  await waitFor(() => scene.destination('d0').state === 'live')
  const second = await publish(BACKUP, { startTimestamp: 5_000_000, videoBytes: 4_000, keyframeEveryMs: 60_000 })
  await waitFor(() => roleOf(status().standby) === 'backup')
  await waitFor(() => second.of('video').length > 30)
  expect(cameFrom(second, connection().messages).filter(({ isHeader }) => !isHeader)).toEqual([])
  first.stop().publisher.socket.resetAndDestroy()
  await waitFor(() => cameFrom(second, connection().messages).some(({ isKeyframe }) => isKeyframe))
  await waitFor(() => cameFrom(second, connection().of('video')).length > 60)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expectUnbroken(connection())
  // The second one's only keyframe came before the cut: its group was kept, and its configuration was known already.
  expect(
    connection()
      .of('video')
      .filter(({ isHeader }) => isHeader),
  ).toHaveLength(1)
  expect(cameFrom(second, connection().of('video')).filter(({ isHeader }) => !isHeader)[0]?.isKeyframe).toBe(true)
  expect([roleOf(status().ingest), roleOf(status().standby)]).toEqual(['backup', null])
  const story = scene.events.flatMap((event) => (event.type.startsWith('ingest.') ? [event.type] : []))
  expect(story).toEqual(['ingest.started', 'ingest.started', 'ingest.ended'])
})

test('silence is enough; the first one, back again, stands by until the second fails', async () => {
  await set()
  const first = await publish(scene.key, { videoBytes: 3_000, keyframeEveryMs: 400 })
  await waitFor(() => scene.destination('d0').state === 'live')
  const second = await publish(BACKUP, { videoBytes: 4_000, keyframeEveryMs: 400 })
  await waitFor(() => roleOf(status().standby) === 'backup')
  first.stop()
  await waitFor(() => roleOf(status().ingest) === 'backup')
  expect(roleOf(status().standby)).toBe('primary')
  const counted = () => scene.events.flatMap((event) => (event.type === 'usage' ? [event] : []))
  const before = Math.max(...counted().map(({ liveMs }) => liveMs))
  const { sessionId } = status().standby!
  first.start()
  await waitFor(() => first.of('video').length > 20)
  expect(roleOf(status().ingest)).toBe('backup')
  second.stop().publisher.close()
  await waitFor(() => roleOf(status().ingest) === 'primary')
  // The minutes of one publisher go on where they stood.
  await waitFor(() => counted().some((usage) => usage.sessionId === sessionId && usage.liveMs > before + 100))
  const seen = cameFrom(second, connection().of('video')).length
  await waitFor(() => connection().of('video').length > seen + 100)
  expect(scene.sinks[0]!.connections).toHaveLength(1)
  expectUnbroken(connection())
})

test('the backup alone feeds the stream; a new key drops both', async () => {
  await set()
  const second = await publish(BACKUP)
  await waitFor(() => scene.destination('d0').state === 'live')
  expect(roleOf(status().ingest)).toBe('backup')
  const first = await publish(scene.key)
  await waitFor(() => roleOf(status().standby) === 'primary')
  scene.change({ keyHash: hashOf(newKey()), backup: { path: 'pathofthebackup', keyHash: hashOf(newKey()) } })
  await Promise.all([first.publisher.closed, second.publisher.closed])
  expect([status().ingest, status().standby]).toEqual([null, null])
})
