import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../../test/support/wait.ts'
import { flvHeader, flvTag } from '../../preview/flv-tag.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { hashOf, QUICK, startScene, type Scene } from '../../testing/node-fixture.ts'
import { WhepViewer } from '../../testing/whep-viewer.ts'
import { WhipClient } from '../../testing/whip-client.ts'
import { makeWhipMedia } from '../../testing/whip-media.ts'
import { endWatch, openWatch, type OpenedWatch } from './proxy.ts'
import { isShowable, PictureFeed } from './picture-feed.ts'

let scene: Scene
let publisher: WhipClient
let address: string
const key = randomBytes(32)
const keyHash = hashOf('the token')
const open: WhepViewer[] = []

/** Media runs in real time, beside whatever else the machine does. */
const PATIENT = { timeoutMs: 20_000 }

beforeAll(async () => {
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  const limits = { viewers: { ...QUICK.viewers, maxViewers: 1 } }
  scene = await startScene([], limits, { whip, preview: { host: '127.0.0.1', port: 0, key } })
  scene.change({ whipHash: keyHash })
  address = `127.0.0.1:${scene.node.status().previewPort}`
  publisher = new WhipClient({ media: await makeWhipMedia() })
  const { path } = scene.stream
  const asked = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await publisher.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...asked })
  if (!reply.ok || reply.session === undefined) throw new Error('not taken')
  publisher.accept(reply.sdp)
  publisher.start()
  await waitFor(() => scene.node.status().streams[0]?.ingest?.audioCodec === 'aac', PATIENT)
})
afterEach(async () => {
  for (const viewer of open.splice(0)) viewer.close()
  await waitFor(() => count() === 0, PATIENT)
})
afterAll(async () => {
  publisher?.close()
  await scene?.close()
})

const count = () => scene.node.status().streams[0]?.viewers ?? 0

function newViewer(): WhepViewer {
  const viewer = new WhepViewer()
  open.push(viewer)
  return viewer
}

/** Somebody who watches. */
async function watch() {
  const viewer = newViewer()
  const reply = await openWatch(address, 'stream-1', await viewer.offer(), key)
  if (reply?.ok !== true) throw new Error(`not taken: ${JSON.stringify(reply)}`)
  viewer.accept(reply.sdp)
  return { viewer, reply }
}

/** The process that turns the stream's sound into that of viewers. */
function encoderOfSound(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  const isIt = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('-application\0lowdelay')
  return Number(children.find(isIt))
}

test('pictures begin at once, with sound; the viewer counts, and is gone when it is ended', async () => {
  const { reply, viewer } = await watch()
  const { audio, video } = viewer.packets
  await waitFor(() => video.length > 60 && audio.length > 30, PATIENT)
  expect(count()).toBe(1)
  // Parameter sets come before the first picture, which is a keyframe.
  const types = video.slice(0, 3).map((packet) => packet[12]! & 0x1f)
  expect(types.slice(0, 2)).toEqual([7, 8])
  const times = audio.map((packet) => packet.readUInt32BE(4))
  expect(new Set(times.slice(1).map((time, index) => time - times[index]!))).toEqual(new Set([960]))
  // What makes the sound ends by itself: there is another a moment later.
  process.kill(encoderOfSound(), 'SIGKILL')
  const heard = audio.length
  await waitFor(() => audio.length > heard + 50, PATIENT)
  const another = newViewer()
  expect(await openWatch(address, 'stream-1', await another.offer(), key)).toMatchObject({ ok: false, code: 'full' })
  expect(await endWatch(address, 'stream-1', reply.session, key)).toBe(true)
  await waitFor(() => count() === 0 && reply.viewing.closed, PATIENT)
  expect(await endWatch(address, 'stream-1', reply.session, key)).toBe(false)
})

test('whoever is let go by the node that asked is no viewer any more', async () => {
  const { reply, viewer } = await watch()
  await waitFor(() => viewer.packets.video.length > 5, PATIENT)
  reply.viewing.destroy()
  await waitFor(() => count() === 0, PATIENT)
})

test('strangers, streams that are not here, and offers that cannot be taken', async () => {
  const offer = await newViewer().offer()
  const ask = (sdp: string, streamId = 'stream-1', nodesKey = key): Promise<OpenedWatch | undefined> =>
    openWatch(address, streamId, sdp, nodesKey)
  await expect(ask(offer, 'stream-1', randomBytes(32))).rejects.toThrow('401')
  expect(await ask(offer, 'stream-2')).toBeUndefined()
  expect(await ask('hello')).toMatchObject({ code: 'malformed' })
  expect(await ask(offer.replaceAll('H264', 'AV1'))).toMatchObject({ code: 'unusable' })
  expect(await ask(offer.replaceAll('a=recvonly', 'a=sendonly'))).toMatchObject({ code: 'unusable' })
})

test('pictures that refer to later ones, or are in another codec, are not shown: the session ends', async () => {
  const picture = (...bytes: number[]) => Buffer.from([...bytes, 0, 0, 0, 1, 0x65])
  expect(isShowable(picture(0x17, 1, 0, 0, 0))).toBe(true)
  expect(isShowable(picture(0x27, 1, 0, 0, 40))).toBe(false)
  expect(isShowable(picture(0x9c, 0x68, 0x76, 0x63, 0x31))).toBe(false)
  const shown: number[] = []
  const feed = new PictureFeed((timestamp, _data, sent) => {
    shown.push(timestamp)
    sent()
  })
  const tag = (payload: Buffer, timestamp: number) => flvTag({ kind: 'video', payload }, timestamp)
  feed.write(flvHeader({ audio: true, video: true }))
  feed.write(tag(picture(0x17, 1, 0, 0, 0), 7))
  const closed = once(feed, 'close')
  feed.write(tag(picture(0x27, 1, 0, 0, 40), 40))
  await closed
  expect(shown).toEqual([7])
})
