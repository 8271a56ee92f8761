import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { launchBrowser } from '../../../test/support/browser.ts'
import { waitFor } from '../../../test/support/wait.ts'
import { WEBRTC_FLAGS } from '../../../test/support/whip-studio.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { hashOf, FAST_LIMITS, startNodeWithSinks } from '../../testing/node-fixture.ts'
import { WhipClient } from '../../testing/whip-client.ts'
import { makeWhipMedia } from '../../testing/whip-media.ts'
import { openWhep } from './proxy.ts'

const [ROUNDS, VIEWERS] = [10, 20]

/** Opens the viewers in the page, and resolves when all have received video. */
const CONNECT = `(async () => {
  const connect = async () => {
    const pc = new RTCPeerConnection()
    for (const kind of ['video', 'audio']) pc.addTransceiver(kind, { direction: 'recvonly' })
    await pc.setLocalDescription()
    await pc.setRemoteDescription({ type: 'answer', sdp: await watch(pc.localDescription.sdp) })
    return pc
  }
  globalThis.viewers = await Promise.all(Array.from({ length: ${VIEWERS} }, connect))
  const hasVideo = async (pc) =>
    [...(await pc.getStats()).values()].some(({ kind, packetsReceived }) => kind === 'video' && packetsReceived > 0)
  const deadline = performance.now() + 60_000
  for (const pc of viewers) {
    while (!(await hasVideo(pc))) {
      if (performance.now() > deadline) throw new Error('a viewer has received no video')
      await new Promise(requestAnimationFrame)
    }
  }
})()`
const DISCONNECT = `for (const pc of viewers) pc.close()`

test('keeps the publisher connected while hundreds of viewers disconnect in the middle of frames', async () => {
  const [key, keyHash] = [randomBytes(32), hashOf('the token')]
  const scene = await startNodeWithSinks(
    [],
    { viewers: { ...FAST_LIMITS.viewers, maxViewers: VIEWERS } },
    {
      whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() },
      preview: { host: '127.0.0.1', port: 0, key },
    },
  )
  scene.change({ whipHash: keyHash })
  const address = `127.0.0.1:${scene.node.status().previewPort}`
  // Each frame has many packets, so most viewers disconnect while a frame is being sent.
  const publisher = new WhipClient({ media: await makeWhipMedia({ kilobits: 2_500, group: 5, size: '320x180' }) })
  const { path } = scene.stream
  const request = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await publisher.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...request })
  if (!reply.ok || reply.session === undefined) throw new Error('refused')
  publisher.accept(reply.sdp)
  publisher.start()
  await waitFor(() => scene.node.status().streams[0]?.ingest?.audioCodec === 'aac')
  const { pid } = scene.node.status().whip!
  const viewerCount = () => scene.node.status().streams[0]?.viewers ?? 0
  const browser = await launchBrowser(WEBRTC_FLAGS)
  const page = await browser.newPage()
  await page.exposeFunction('watch', async (sdp: string) => {
    const opened = await openWhep(address, 'stream-1', sdp, key)
    if (opened?.ok !== true) throw new Error(`refused: ${JSON.stringify(opened)}`)
    return opened.sdp
  })
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.evaluate(CONNECT)
    expect(viewerCount()).toBe(VIEWERS)
    await page.evaluate(DISCONNECT)
    await waitFor(() => viewerCount() === 0)
  }
  expect(scene.lines.filter((line) => /WHIP process (failed|ended)/.test(line))).toEqual([])
  expect(scene.node.status().whip).toMatchObject({ pid, sessions: [{ connected: true }] })
  expect(scene.events.filter(({ type }) => type === 'ingest.ended')).toEqual([])
  publisher.close()
  await Promise.all([browser.close(), scene.close()])
})
