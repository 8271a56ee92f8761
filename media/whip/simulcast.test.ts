import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../test/support/browser.ts'
import { waitFor } from '../../test/support/wait.ts'
import { WEBRTC_FLAGS } from '../../test/support/whip-studio.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startScene, type Scene } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'

/** A real browser publishes its picture in two layers: its offer names them (RID), and no source of their packets. */

const PATIENT = { timeoutMs: 40_000 }
const keyHash = hashOf('the token')
let scene: Scene
let browser: Browser
let page: Page

beforeAll(async () => {
  const whip = { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() }
  scene = await startScene([await startSink()], { holdMs: 10_000 }, { whip })
  scene.change({ whipHash: keyHash })
  browser = await launchBrowser(WEBRTC_FLAGS)
  page = await browser.newPage()
  await page.exposeFunction('answerTo', async (sdp: string) => {
    const { path } = scene.stream
    const asked = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp }
    const reply = await scene.node.whip({ type: 'offer', ...asked })
    if (!reply.ok || reply.session === undefined) throw new Error(JSON.stringify(reply))
    return reply.sdp
  })
})
afterAll(async () => {
  await Promise.all([browser?.close(), scene?.close()])
})

const GO = `(async () => {
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
  await pc.setRemoteDescription({ type: 'answer', sdp: await answerTo(pc.localDescription.sdp) })
  return pc.localDescription.sdp
})()`

/** Switches layers on and off. */
const sendLayers = (rids: string) =>
  page.evaluate(`(async () => {
    const parameters = sender.getParameters()
    for (const encoding of parameters.encodings) encoding.active = '${rids}'.includes(encoding.rid)
    await sender.setParameters(parameters)
  })()`)

const keyframesAskedOf = (rid: string) =>
  page.evaluate<number>(`(async () => {
    const stats = [...(await sender.getStats()).values()]
    return stats.find(({ rid, type }) => type === 'outbound-rtp' && rid === '${rid}')?.pliCount ?? 0
  })()`)

const frames = () => scene.sinks[0]!.messages('video').filter(({ isHeader }) => !isHeader)
const ingest = () => scene.node.status().streams[0]?.ingest ?? null

/** Waits for pictures that came after now. */
async function more(count: number): Promise<void> {
  const before = frames().length
  await waitFor(() => frames().length >= before + count, PATIENT)
}

test('the best layer goes out; when it stops, the next one takes its place, and it comes back', async () => {
  const offer = await page.evaluate<string>(GO)
  expect(offer).toContain('a=simulcast:send h;f')
  expect(offer.split('m=audio')[0]).not.toContain('a=ssrc:')
  await more(25)
  await waitFor(() => ingest()?.width, PATIENT)
  expect(ingest()).toMatchObject({ videoCodec: 'h264', width: 640, height: 360 })
  await sendLayers('h')
  const fitted = () => ingest()?.warnings.find(({ code }) => code === 'resolution_changed')?.message
  await waitFor(fitted, PATIENT)
  expect(fitted()).toContain('is received as 320×180 and re-encoded as 640×360')
  await more(25)
  const asked = await keyframesAskedOf('f')
  await sendLayers('hf')
  // Back for a while, it is asked for the keyframe that it goes on with.
  await waitFor(async () => (await keyframesAskedOf('f')) > asked, PATIENT)
  await more(25)
  expect(ingest()).toMatchObject({ width: 640, height: 360 })
  const times = frames().map(({ timestamp }) => timestamp)
  expect(times.toSorted((one, other) => one - other)).toEqual(times)
})
