import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../test/support/browser.ts'
import { waitFor } from '../../test/support/wait.ts'
import { WEBRTC_FLAGS } from '../../test/support/whip-studio.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'

/** A real browser publishes two simulcast layers. Its offer identifies them by RID and contains no SSRC for them. */

const keyHash = hashOf('the token')
let scene: NodeWithSinks
let browser: Browser
let page: Page

beforeAll(async () => {
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  scene = await startNodeWithSinks([await startSink()], { holdMs: 10_000 }, { whip })
  scene.change({ whipHash: keyHash })
  browser = await launchBrowser(WEBRTC_FLAGS)
  page = await browser.newPage()
  await page.exposeFunction('requestAnswer', async (sdp: string) => {
    const { path } = scene.stream
    const request = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp }
    const reply = await scene.node.whip({ type: 'offer', ...request })
    if (!reply.ok || reply.session === undefined) throw new Error(JSON.stringify(reply))
    return reply.sdp
  })
})
afterAll(async () => {
  await Promise.all([browser?.close(), scene?.close()])
})

const PUBLISH = `(async () => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 360 })
  const context = canvas.getContext('2d')
  setInterval(() => {
    context.fillStyle = 'hsl(' + (performance.now() / 20) + ' 80% 50%)'
    context.fillRect(Math.random() * 600, Math.random() * 320, 60, 60)
  }, 40)
  const tone = new AudioContext()
  const target = tone.createMediaStreamDestination()
  const oscillator = tone.createOscillator()
  oscillator.connect(target)
  oscillator.start()
  const pc = new RTCPeerConnection()
  const [track] = canvas.captureStream(25).getVideoTracks()
  const sendEncodings = [{ rid: 'h', scaleResolutionDownBy: 2 }, { rid: 'f', scaleResolutionDownBy: 1 }]
  const video = pc.addTransceiver(track, { direction: 'sendonly', sendEncodings })
  const { codecs } = RTCRtpSender.getCapabilities('video')
  video.setCodecPreferences(codecs.filter(({ mimeType }) => ['video/H264', 'video/rtx'].includes(mimeType)))
  pc.addTransceiver(target.stream.getAudioTracks()[0], { direction: 'sendonly' })
  globalThis.sender = video.sender
  await pc.setLocalDescription()
  await pc.setRemoteDescription({ type: 'answer', sdp: await requestAnswer(pc.localDescription.sdp) })
  return pc.localDescription.sdp
})()`

/** Activates these layers and deactivates the others. */
const sendLayers = (rids: string) =>
  page.evaluate(`(async () => {
    const parameters = sender.getParameters()
    for (const encoding of parameters.encodings) encoding.active = '${rids}'.includes(encoding.rid)
    await sender.setParameters(parameters)
  })()`)

const pliCount = (rid: string) =>
  page.evaluate<number>(`(async () => {
    const stats = [...(await sender.getStats()).values()]
    return stats.find(({ rid, type }) => type === 'outbound-rtp' && rid === '${rid}')?.pliCount ?? 0
  })()`)

const frames = () => scene.sinks[0]!.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader)
const ingest = () => scene.node.status().streams[0]?.ingest ?? null

/** Waits for this many further frames at the destination. */
async function moreFrames(count: number): Promise<void> {
  const before = frames().length
  await waitFor(() => frames().length >= before + count)
}

test('sends the best layer, switches to the other when it stops, and back when it returns', async () => {
  const offer = await page.evaluate<string>(PUBLISH)
  expect(offer).toContain('a=simulcast:send h;f')
  expect(offer.split('m=audio')[0]).not.toContain('a=ssrc:')
  await moreFrames(25)
  await waitFor(() => ingest()?.width)
  expect(ingest()).toMatchObject({ videoCodec: 'h264', width: 640, height: 360 })
  await sendLayers('h')
  const sizeWarning = () => ingest()?.warnings.find(({ code }) => code === 'resolution_changed')?.message
  await waitFor(sizeWarning)
  expect(sizeWarning()).toContain('is received as 320×180 and re-encoded as 640×360')
  await moreFrames(25)
  const pliBefore = await pliCount('f')
  await sendLayers('hf')
  // When the layer has been steady, a PLI requests the keyframe for the switch.
  await waitFor(async () => (await pliCount('f')) > pliBefore)
  await moreFrames(25)
  expect(ingest()).toMatchObject({ width: 640, height: 360 })
  const times = frames().map(({ timestamp }) => timestamp)
  expect(times.toSorted((left, right) => left - right)).toEqual(times)
})
