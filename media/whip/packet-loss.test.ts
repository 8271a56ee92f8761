import { crc32 } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink, type SinkMessage } from '../testing/sink.ts'
import { startUdpRelay, throughPort, type UdpRelay } from '../testing/udp-relay.ts'
import { WhipClient } from '../testing/whip-client.ts'
import { makeWhipMedia, tagBody, type WhipMedia } from '../testing/whip-media.ts'

/** The video that destinations receive when the client's network loses, reorders or delays packets. */

let media: WhipMedia
let scene: NodeWithSinks
let relay: UdpRelay
let client: WhipClient
let session: string
const keyHash = hashOf('the token')

/** Media is sent in real time, also on a busy machine. */

beforeAll(async () => {
  media = await makeWhipMedia({ kilobits: 3_000 })
  scene = await startNodeWithSinks(
    [await startSink()],
    {},
    { whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() } },
  )
  scene.change({ whipHash: keyHash })
  relay = await startUdpRelay(scene.node.status().whip!.port)
})
afterEach(async () => {
  await scene.node.whip({ type: 'delete', path: scene.stream.path, keyHash, session })
  client.close()
  Object.assign(relay.faults, { loss: 0, reorder: 0, delayMs: 0, dark: false })
  scene.sinks[0]!.last()!.messages.length = 0
})
afterAll(async () => {
  await relay?.close()
  await scene?.close()
})

async function publish(): Promise<void> {
  client = new WhipClient({ media })
  const { path } = scene.stream
  const sdp = await client.offer()
  const reply = await scene.node.whip({
    type: 'offer',
    path,
    keyHash,
    remoteAddress: '127.0.0.1',
    normalise: false,
    sdp,
  })
  if (!reply.ok || reply.session === undefined) throw new Error(`refused: ${JSON.stringify(reply)}`)
  session = reply.session
  client.accept(throughPort(reply.sdp, relay.port))
  client.start()
  await waitFor(() => frames().length > 10)
}

const frames = (): SinkMessage[] =>
  scene.sinks[0]!.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)

let checksums: Set<number> | undefined

/** Whether a frame is bit-identical to one that the client sent. */
function isIntact({ checksum }: SinkMessage): boolean {
  checksums ??= new Set(media.frames.map((nals) => crc32(tagBody(nals))))
  return checksums.has(checksum)
}

/** Longest distance between the timestamps of consecutive frames, milliseconds. */
function maxStepMs(): number {
  const times = frames().map(({ timestamp }) => timestamp)
  return Math.max(0, ...times.slice(1).map((time, index) => time - times[index]!))
}

/**
 * Waits for this many frames in a row. A busy machine delays retransmissions until a frame is given up, and recovers. Without
 * retransmissions there is no such row.
 */
async function framesInARow(count: number): Promise<void> {
  const { messages } = scene.sinks[0]!.last()!
  messages.length = 0
  await waitFor(() => {
    if (maxStepMs() >= 200) messages.length = 0
    return frames().length > count
  })
}

test.each([
  ['5 % packet loss', { loss: 0.05, delayMs: 10 }],
  ['10 % packet loss', { loss: 0.1, delayMs: 10 }],
  ['5 % reordering and 2 % packet loss', { reorder: 0.05, loss: 0.02 }],
  ['an RTT of 300 ms and 2 % packet loss', { delayMs: 150, loss: 0.02 }],
])('delivers every frame with %s', async (_what, faults) => {
  await publish()
  Object.assign(relay.faults, faults)
  await framesInARow(40)
  expect(relay.passed.lost).toBeGreaterThan(0)
  expect(client.retransmissions).toBeGreaterThan(0)
  expect(frames().filter((frame) => !isIntact(frame))).toEqual([])
  const video = () => scene.node.status().whip?.sessions[0]?.tracks.find(({ kind }) => kind === 'video')
  const status = await waitFor(() => ((video()?.recovered ?? 0) > 0 ? video() : undefined))
  expect(status?.requested).toBeGreaterThanOrEqual(status?.recovered ?? 0)
  expect(status?.jitterMs).toBeGreaterThan(0)
  expect(status?.jitterMs).toBeLessThan(10_000)
})

test('delivers only intact frames after an outage of 1.5 s', async () => {
  await publish()
  relay.faults.dark = true
  const sent = client.sentAt.length
  await waitFor(() => client.sentAt.length > sent + 45)
  relay.faults.dark = false
  const before = frames().length
  await waitFor(() => frames().length > before + 30)
  expect(frames().filter((frame) => !isIntact(frame))).toEqual([])
  const { path } = scene.stream
  expect(scene.node.status().streams.find((stream) => stream.path === path)?.ingest?.sessionId).toBe(session)
})
