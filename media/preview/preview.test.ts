import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { readTags, type FlvTag } from '../testing/flv-file.ts'
import { Feed } from '../testing/feed.ts'
import { FAST_LIMITS, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'
import { openPreview } from './open-preview.ts'
import { makeTicket } from './ticket.ts'

const key = randomBytes(32)
const closers: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface LivePreview {
  readonly scene: NodeWithSinks
  readonly feed: Feed
  /** `host:port` of the node's preview server. */
  readonly address: string
}

/** Starts a node and a publisher, and waits for its video. */
async function startLivePreview(limits: Partial<typeof FAST_LIMITS> = {}, feedOptions = {}): Promise<LivePreview> {
  const scene = await startNodeWithSinks([await startSink()], limits, { preview: { host: '127.0.0.1', port: 0, key } })
  closers.push(() => scene.close())
  const feed = new Feed(await scene.publish(), feedOptions).start()
  closers.push(() => void feed.stop())
  await waitFor(() => feed.of('video').length > 20)
  return { scene, feed, address: `127.0.0.1:${scene.node.status().previewPort}` }
}

/** Reads a preview. `tags()` returns the tags so far. */
function watch(source: Readable): { tags(): FlvTag[]; ended: boolean } {
  const chunks: Buffer[] = []
  const seen = { tags: () => readTags(Buffer.concat(chunks)), ended: false }
  source.on('data', (chunk: Buffer) => chunks.push(chunk))
  source.on('close', () => (seen.ended = true))
  source.on('error', () => {})
  return seen
}

const isVideoFrame = ({ type, payload }: FlvTag) => type === 9 && payload[1] === 1
const isKeyframe = (tag: FlvTag) => isVideoFrame(tag) && tag.payload[0]! >> 4 === 1

test('starts with the configurations and a keyframe, and continues in order from time 0', async () => {
  const { address, scene, feed } = await startLivePreview()
  const source = await openPreview(address, 'stream-1', key)
  const seen = watch(source)
  await waitFor(() => seen.tags().length > 60)
  const tags = seen.tags()
  expect(tags.slice(0, 3).map(({ type }) => type)).toEqual([18, 9, 8])
  expect(tags[0]?.payload.toString('latin1')).toContain('onMetaData')
  expect(tags[0]?.payload.toString('latin1')).not.toContain('@setDataFrame')
  expect(tags.slice(0, 3).every(({ timestamp }) => timestamp === 0)).toBe(true)
  expect(isKeyframe(tags.find(isVideoFrame)!)).toBe(true)
  const times = tags.filter(isVideoFrame).map(({ timestamp }) => timestamp)
  expect(times.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, index) => index * 20))
  expect(scene.node.status().streams[0]?.viewers).toBe(1)
  source.destroy()
  await waitFor(() => scene.node.status().streams[0]?.viewers === 0)
  expect(scene.events.flatMap((event) => (event.type === 'viewers.changed' ? [event.viewers] : []))).toEqual([1, 0])
  feed.stop()
})

test('drops whole GOPs for a viewer that does not read, and for no other output', async () => {
  // The viewer that reads must not fall as far behind when this process pauses.
  const queue = { maxMs: 2_000, maxBytes: 6_000_000, maxAudioMs: 2_000 }
  const { address, scene, feed } = await startLivePreview(
    { viewers: { queue, maxViewers: 4, stallMs: 60_000 } },
    { videoBytes: 60_000, keyframeEveryMs: 200 },
  )
  const slow = await openPreview(address, 'stream-1', key)
  closers.push(() => void slow.destroy())
  const fast = watch(await openPreview(address, 'stream-1', key))
  const [sink] = scene.sinks
  await waitFor(() => feed.of('video').length > 500)
  const seen = watch(slow)
  const newest = () => seen.tags().filter(isVideoFrame).at(-1)?.timestamp ?? 0
  await waitFor(() => newest() > 9_800)
  feed.stop()
  const frames = seen.tags().filter(isVideoFrame)
  const afterGap = frames.filter((tag, index) => index > 0 && tag.timestamp - frames[index - 1]!.timestamp > 20)
  expect(afterGap.length).toBeGreaterThan(0)
  expect(afterGap.filter((tag) => !isKeyframe(tag))).toEqual([])
  const complete = fast.tags().filter(isVideoFrame)
  expect(complete.every((tag, index) => index === 0 || tag.timestamp - complete[index - 1]!.timestamp <= 20)).toBe(true)
  await waitFor(() => sink!.messages('video').length >= feed.of('video').length)
})

test('disconnects a viewer that reads nothing for too long', async () => {
  const { address, scene } = await startLivePreview(
    { viewers: { ...FAST_LIMITS.viewers, stallMs: 300 } },
    { videoBytes: 100_000, keyframeEveryMs: 200 },
  )
  const stalled = await openPreview(address, 'stream-1', key)
  stalled.on('error', () => {})
  await waitFor(() => scene.node.status().streams[0]?.viewers === 0)
})

test('refuses wrong keys, unknown streams and too many viewers; ends viewers when the stream is removed', async () => {
  const { address, scene } = await startLivePreview({ viewers: { ...FAST_LIMITS.viewers, maxViewers: 1 } })
  await expect(openPreview(address, 'stream-1', randomBytes(32))).rejects.toMatchObject({ reason: 'unreachable' })
  await expect(openPreview(address, 'stream-2', key)).rejects.toMatchObject({ reason: 'gone' })
  const seen = watch(await openPreview(address, 'stream-1', key))
  await expect(openPreview(address, 'stream-1', key)).rejects.toMatchObject({ reason: 'full' })
  scene.node.remove('stream-1')
  await waitFor(() => seen.ended)
  await expect(openPreview(address, 'stream-1', key)).rejects.toMatchObject({ reason: 'gone' })
})

test('forbids caching and content sniffing in every response', async () => {
  const { address } = await startLivePreview()
  const ticket = (subject: string) => ({ Authorization: `Bearer ${makeTicket(key, subject, new Date().getTime())}` })
  const requests: [status: number, path: string, init?: RequestInit][] = [
    [200, '/preview/stream-1', { headers: ticket('stream-1') }],
    [401, '/preview/stream-1'],
    [404, '/preview/stream-2', { headers: ticket('stream-2') }],
    [405, '/preview/stream-1', { method: 'PUT', headers: ticket('stream-1') }],
    [404, `/preview/stream-1/${'0'.repeat(32)}`, { method: 'DELETE', headers: ticket('stream-1') }],
    [404, '/nothing'],
    [401, '/whip', { method: 'POST', body: '{}' }],
    [405, '/whip', { headers: ticket('whip') }],
    [400, '/whip', { method: 'POST', headers: ticket('whip'), body: 'no JSON' }],
  ]
  for (const [status, path, init] of requests) {
    const reply = await fetch(`http://${address}${path}`, init)
    await reply.body?.cancel()
    expect(reply.status, path).toBe(status)
    expect(reply.headers.get('x-content-type-options'), path).toBe('nosniff')
    expect(reply.headers.get('cache-control'), path).toBe('no-store')
  }
})

test('keeps the connection of a viewer while the publisher reconnects within the hold', async () => {
  const { address, scene, feed } = await startLivePreview()
  const seen = watch(await openPreview(address, 'stream-1', key))
  await waitFor(() => seen.tags().length > 20)
  feed.stop()
  feed.publisher.close()
  await waitFor(() => scene.node.status().streams[0]?.ingest === null)
  const before = seen.tags().length
  const second = new Feed(await scene.publish()).start()
  await waitFor(() => seen.tags().length > before + 40)
  second.stop()
  second.publisher.close()
  scene.change({ holdMs: 500 })
  const times = seen.tags().flatMap((tag) => (isVideoFrame(tag) ? [tag.timestamp] : []))
  expect(times.every((time, index) => index === 0 || time > times[index - 1]!)).toBe(true)
  await waitFor(() => seen.ended)
})
