import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { headerVideoSize } from '../rtmp/flv.ts'
import { enhancedMessages, makeEnhancedClip, sendAll } from '../testing/enhanced-clip.ts'
import { makeClip, publishFlv, useFfmpeg } from '../testing/ffmpeg.ts'
import { startNode, destinationTo, type NodeFixture } from '../testing/node-fixture.ts'
import { startSink, type Sink } from '../testing/sink.ts'

let folder: string
let node: NodeFixture
let unchanged: Sink
let limited: Sink

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-switching-'))
  await makeClip(join(folder, 'first.flv'), { seconds: 4, bFrames: 0 })
  await makeClip(join(folder, 'small.flv'), { seconds: 8, size: '160x90' })
  await makeEnhancedClip(join(folder, 'hevc.mp4'), 'hevc', 1)
  ;[unchanged, limited] = await Promise.all([startSink(), startSink()])
  node = await startNode(
    [
      destinationTo(unchanged, 'unchanged'),
      { ...destinationTo(limited, 'limited'), rendering: { maxBitrate: 400_000 } },
    ],
    { holdMs: 60_000, stallMs: 30_000 },
    { whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() } },
  )
})
afterAll(async () => {
  await node?.node.close()
  await Promise.all([unchanged?.close(), limited?.close()])
  await rm(folder, { recursive: true, force: true })
})

const publish = (name: string) => publishFlv(join(folder, name), `rtmp://127.0.0.1:${node.port}/live/${node.key}`)
const frames = (sink: Sink) => sink.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)
const rendering = () => node.node.status().streams[0]!.destinations.find(({ id }) => id === 'limited')!.rendering!
const size = () => headerVideoSize(limited.last()!.videoHeader!, 'h264')

/** The longest time between two video frames, by the timestamps at the destination. */
function longestGap(sink: Sink): number {
  const times = frames(sink).map(({ timestamp }) => timestamp)
  return Math.max(...times.slice(1).map((time, index) => time - times[index]!))
}

test('the encoder continues with a publisher that returns, without a longer gap', async () => {
  await publish('first.flv')
  await waitFor(() => frames(limited).length > 60)
  await publish('first.flv')
  await waitFor(() => frames(unchanged).length > 200 && frames(limited).length > 150)
  expect(rendering()).toMatchObject({ state: 'running', restarts: 0, lastError: null })
  // Encoders delay a frame or two, and lose some on a busy machine.
  expect(longestGap(limited)).toBeLessThan(longestGap(unchanged) + 500)
  expect(limited.connections).toHaveLength(1)
})

test('a publisher with another configuration gets a new encoder', async () => {
  const published = publish('small.flv')
  await waitFor(() => size()?.width === 160)
  await published
  expect(rendering()).toMatchObject({ restarts: 0 })
})

test('a codec that ffmpeg cannot read is reported, without retries', async () => {
  const { version } = await useFfmpeg()
  const publisher = await node.publish()
  sendAll(publisher, await enhancedMessages(join(folder, 'hevc.mp4'), 'hevc'))
  if (/^n?[0-5]\./.test(version)) {
    await waitFor(() => rendering().state === 'unavailable')
    expect(rendering().lastError).toContain('The publisher sends hevc, which ffmpeg')
    expect(rendering()).toMatchObject({ restarts: 0 })
  }
  publisher.close()
  // The encoder runs again when a publisher sends H.264.
  const before = frames(limited).length
  const published = publish('first.flv').catch(() => {})
  await waitFor(() => frames(limited).length > before + 30)
  expect(rendering()).toMatchObject({ state: 'running', lastError: null })
  await published
})
