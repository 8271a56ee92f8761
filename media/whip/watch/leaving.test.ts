import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { launchBrowser } from '../../../test/support/browser.ts'
import { waitFor } from '../../../test/support/wait.ts'
import { WEBRTC_FLAGS } from '../../../test/support/whip-studio.ts'
import { useFfmpeg } from '../../testing/ffmpeg.ts'
import { hashOf, QUICK, startScene } from '../../testing/node-fixture.ts'
import { WhipClient } from '../../testing/whip-client.ts'
import { makeWhipMedia } from '../../testing/whip-media.ts'
import { openWatch } from './proxy.ts'

const PATIENT = { timeoutMs: 20_000 }
const [ROUNDS, AT_ONCE] = [10, 20]

/** Opens so many viewers in the page and resolves when each has had pictures; `leave()` closes them all. */
const COME = `(async () => {
  const one = async () => {
    const pc = new RTCPeerConnection()
    for (const kind of ['video', 'audio']) pc.addTransceiver(kind, { direction: 'recvonly' })
    await pc.setLocalDescription()
    await pc.setRemoteDescription({ type: 'answer', sdp: await watch(pc.localDescription.sdp) })
    return pc
  }
  globalThis.viewers = await Promise.all(Array.from({ length: ${AT_ONCE} }, one))
  const hasPictures = async (pc) =>
    [...(await pc.getStats()).values()].some(({ kind, packetsReceived }) => kind === 'video' && packetsReceived > 0)
  const latest = performance.now() + ${PATIENT.timeoutMs}
  for (const pc of viewers) {
    while (!(await hasPictures(pc))) {
      if (performance.now() > latest) throw new Error('a viewer has had no pictures')
      await new Promise(requestAnimationFrame)
    }
  }
})()`
const LEAVE = `for (const pc of viewers) pc.close()`

test('hundreds of viewers leave in the middle of pictures, and the publisher beside them goes on', async () => {
  const [key, keyHash] = [randomBytes(32), hashOf('the token')]
  const scene = await startScene(
    [],
    { viewers: { ...QUICK.viewers, maxViewers: AT_ONCE } },
    {
      whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() },
      preview: { host: '127.0.0.1', port: 0, key },
    },
  )
  scene.change({ whipHash: keyHash })
  const address = `127.0.0.1:${scene.node.status().previewPort}`
  // Pictures of many packets: a viewer mostly leaves while one is being sent.
  const publisher = new WhipClient({ media: await makeWhipMedia({ kilobits: 2_500, group: 5, size: '320x180' }) })
  const { path } = scene.stream
  const asked = { path, keyHash, remoteAddress: '127.0.0.1', normalise: false, sdp: await publisher.offer() }
  const reply = await scene.node.whip({ type: 'offer', ...asked })
  if (!reply.ok || reply.session === undefined) throw new Error('not taken')
  publisher.accept(reply.sdp)
  publisher.start()
  await waitFor(() => scene.node.status().streams[0]?.ingest?.audioCodec === 'aac', PATIENT)
  const { pid } = scene.node.status().whip!
  const count = () => scene.node.status().streams[0]?.viewers ?? 0
  const browser = await launchBrowser(WEBRTC_FLAGS)
  const page = await browser.newPage()
  await page.exposeFunction('watch', async (sdp: string) => {
    const opened = await openWatch(address, 'stream-1', sdp, key)
    if (opened?.ok !== true) throw new Error(`not taken: ${JSON.stringify(opened)}`)
    return opened.sdp
  })
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.evaluate(COME)
    expect(count()).toBe(AT_ONCE)
    await page.evaluate(LEAVE)
    await waitFor(() => count() === 0, PATIENT)
  }
  expect(scene.lines.filter((line) => /WHIP process (failed|ended)/.test(line))).toEqual([])
  expect(scene.node.status().whip).toMatchObject({ pid, sessions: [{ connected: true }] })
  expect(scene.events.filter(({ type }) => type === 'ingest.ended')).toEqual([])
  publisher.close()
  await Promise.all([browser.close(), scene.close()])
})
