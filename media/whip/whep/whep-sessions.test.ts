import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../../test/support/wait.ts'
import { flvHeader, flvTag } from '../../preview/flv-tag.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { hashOf, FAST_LIMITS, startNodeWithSinks, type NodeWithSinks } from '../../testing/node-fixture.ts'
import { WhepViewer } from '../../testing/whep-viewer.ts'
import { WhipClient } from '../../testing/whip-client.ts'
import { makeWhipMedia } from '../../testing/whip-media.ts'
import { endWhep, openWhep, type OpenedWhep } from './proxy.ts'
import { isPlayable, H264Feed } from './h264-feed.ts'

let scene: NodeWithSinks
let publisher: WhipClient
let address: string
const key = randomBytes(32)
const keyHash = hashOf('the token')
const openViewers: WhepViewer[] = []

/** Media runs in real time, beside whatever else the machine does. */

beforeAll(async () => {
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  const limits = { viewers: { ...FAST_LIMITS.viewers, maxViewers: 1 } }
  scene = await startNodeWithSinks([], limits, { whip, preview: { host: '127.0.0.1', port: 0, key } })
  scene.change({ whipHash: keyHash })
  address = `127.0.0.1:${scene.node.status().previewPort}`
  publisher = new WhipClient({ media: await makeWhipMedia() })
  const { path } = scene.stream
  const request = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await publisher.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...request })
  if (!reply.ok || reply.session === undefined) throw new Error('refused')
  publisher.accept(reply.sdp)
  publisher.start()
  await waitFor(() => scene.node.status().streams[0]?.ingest?.audioCodec === 'aac')
})
afterEach(async () => {
  for (const viewer of openViewers.splice(0)) viewer.close()
  await waitFor(() => viewerCount() === 0)
})
afterAll(async () => {
  publisher?.close()
  await scene?.close()
})

const viewerCount = () => scene.node.status().streams[0]?.viewers ?? 0

function newViewer(): WhepViewer {
  const viewer = new WhepViewer()
  openViewers.push(viewer)
  return viewer
}

/** Opens a session. */
async function watch() {
  const viewer = newViewer()
  const reply = await openWhep(address, 'stream-1', await viewer.offer(), key)
  if (reply?.ok !== true) throw new Error(`refused: ${JSON.stringify(reply)}`)
  viewer.accept(reply.sdp)
  return { viewer, reply }
}

/** Process id of the Opus encoder. */
function opusEncoderPid(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const isOpusEncoder = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('-application\0lowdelay')
  return Number(children.find(isOpusEncoder))
}

test('plays video and audio, counts the viewer, and ends the session on request', async () => {
  const { reply, viewer } = await watch()
  const { audio, video } = viewer.packets
  await waitFor(() => video.length > 60 && audio.length > 30)
  expect(viewerCount()).toBe(1)
  // Parameter sets come before the first frame, which is a keyframe.
  const types = video.slice(0, 3).map((packet) => packet[12]! & 0x1f)
  expect(types.slice(0, 2)).toEqual([7, 8])
  const times = audio.map((packet) => packet.readUInt32BE(4))
  expect(new Set(times.slice(1).map((time, index) => time - times[index]!))).toEqual(new Set([960]))
  // A killed encoder is restarted.
  process.kill(opusEncoderPid(), 'SIGKILL')
  const before = audio.length
  await waitFor(() => audio.length > before + 50)
  const another = newViewer()
  expect(await openWhep(address, 'stream-1', await another.offer(), key)).toMatchObject({ ok: false, code: 'full' })
  expect(await endWhep(address, 'stream-1', reply.session, key)).toBe(true)
  await waitFor(() => viewerCount() === 0 && reply.viewing.closed)
  expect(await endWhep(address, 'stream-1', reply.session, key)).toBe(false)
})

test('ends the session when the API node closes the response', async () => {
  const { reply, viewer } = await watch()
  await waitFor(() => viewer.packets.video.length > 5)
  reply.viewing.destroy()
  await waitFor(() => viewerCount() === 0)
})

test('refuses wrong keys, unknown streams and unsupported offers', async () => {
  const offer = await newViewer().offer()
  const send = (sdp: string, streamId = 'stream-1', nodesKey = key): Promise<OpenedWhep | undefined> =>
    openWhep(address, streamId, sdp, nodesKey)
  await expect(send(offer, 'stream-1', randomBytes(32))).rejects.toThrow('401')
  expect(await send(offer, 'stream-2')).toBeUndefined()
  expect(await send('hello')).toMatchObject({ code: 'malformed' })
  expect(await send(offer.replaceAll('H264', 'AV1'))).toMatchObject({ code: 'unusable' })
  expect(await send(offer.replaceAll('a=recvonly', 'a=sendonly'))).toMatchObject({ code: 'unusable' })
})

test('ends the session at B-frames and other codecs', async () => {
  const frame = (...bytes: number[]) => Buffer.from([...bytes, 0, 0, 0, 1, 0x65])
  expect(isPlayable(frame(0x17, 1, 0, 0, 0))).toBe(true)
  expect(isPlayable(frame(0x27, 1, 0, 0, 40))).toBe(false)
  expect(isPlayable(frame(0x9c, 0x68, 0x76, 0x63, 0x31))).toBe(false)
  const sentTimestamps: number[] = []
  const feed = new H264Feed((timestamp, _data, sent) => {
    sentTimestamps.push(timestamp)
    sent()
  })
  const tag = (payload: Buffer, timestamp: number) => flvTag({ kind: 'video', payload }, timestamp)
  feed.write(flvHeader({ audio: true, video: true }))
  feed.write(tag(frame(0x17, 1, 0, 0, 0), 7))
  const closed = once(feed, 'close')
  feed.write(tag(frame(0x27, 1, 0, 0, 40), 40))
  await closed
  expect(sentTimestamps).toEqual([7])
})
