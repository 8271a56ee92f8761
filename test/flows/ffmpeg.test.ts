import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { makeClip } from '../../media/testing/ffmpeg.ts'
import type { Sink } from '../../media/testing/sink.ts'
import { exampleOffer } from '../../src/domains/live/media-nodes/index.ts'
import { hasApt } from '../../src/setup/debian-packages.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { PIXEL } from '../support/pixel.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** A machine whose PATH has no ffmpeg. */

let folder: string
let clip: Uint8Array<ArrayBuffer>
let app: App | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-no-ffmpeg-'))
  await makeClip(join(folder, 'clip.mp4'), { seconds: 2, group: 15 })
  clip = new Uint8Array(await readFile(join(folder, 'clip.mp4')))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await app?.stop()
  app = undefined
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const NO_MIRROR = 'http://127.0.0.1:9'

/** Starts a node with an empty PATH. @param reach false: Debian's mirror does not respond */
async function start(cache: string, { reach }: { readonly reach: boolean }) {
  if (!reach) for (const name of ['http_proxy', 'https_proxy']) vi.stubEnv(name, NO_MIRROR)
  const started = await startApp({
    media: true,
    env: { ALLOW_PRIVATE_ADDRESSES: '1', PATH: join(folder, 'bin'), CACHE_DIR: join(folder, cache) },
  })
  app = started
  const world = new World(started)
  const workspaceId = await world.workspace('acme', 'ada')
  const upload = (name: string, content: Uint8Array<ArrayBuffer>, type: string) =>
    world.as('ada').call('POST /api/assets/upload', { body: { workspaceId }, file: { name, content, type } })
  const line = started.node.facts.find(([name]) => name === 'ffmpeg')?.[1] ?? ''
  return { started, caller: world.as('ada'), line, upload, workspaceId }
}

test.runIf(hasApt())('it comes from Debian’s packages, once, and processes uploads', async () => {
  for (const reach of [true, false]) {
    const { caller, line, upload } = await start('filled', { reach })
    expect(line).toMatch(/^\d+\.\d+\S* \(\S+\/filled\/ffmpeg\/bin\/ffmpeg, unpacked from Debian’s packages\)$/)
    const sent = await upload('clip.mp4', clip, 'video/mp4')
    expect(sent.status, sent.text).toBe(201)
    const asset = async () =>
      (await caller.call('GET /api/assets/{id}', { path: { id: sent.body.data._id } })).body.data
    await waitFor(async () => (await asset()).thumbnail.status === 'ready', { what: 'the thumbnail of the video' })
    expect((await asset()).duration).toBeCloseTo(2, 0)
    await app?.stop()
    app = undefined
  }
})

test('without Debian’s packages, video and audio get 503 with what to install, and images work', async () => {
  const { started, caller, line, upload, workspaceId } = await start('empty', { reach: false })
  expect(line).toMatch(/^missing, so video and audio get 503: .*Install it \(Debian: apt-get install ffmpeg/)
  expect(started.logs).toContainEqual(expect.objectContaining({ setting: 'FFMPEG_PATH' }))
  const missing = { code: 'ffmpeg_missing', message: expect.stringContaining('apt-get install ffmpeg') }
  expect(await upload('clip.mp4', clip, 'video/mp4')).toMatchObject({ status: 503, body: missing })
  const body = { workspaceId, name: 'clip.mp4', type: 'video/mp4', size: clip.length }
  const signed = await caller.call('POST /api/uploads/signed-url', { body })
  expect(signed).toMatchObject({ status: 503, body: missing })
  const image = await upload('pixel.png', PIXEL, 'image/png')
  expect(image.status, image.text).toBe(201)
  const caster = new Broadcaster(started, caller, workspaceId)
  const { _id: id } = await caster.stream({ one: { port: 50_000 } as Sink })
  const armed = await caster.call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
    path: { id },
  })
  const headers = { 'Content-Type': 'application/sdp', Authorization: `Bearer ${armed.whipToken}` }
  const publish = (query: string) =>
    fetch(`${armed.whipUrl}${query}`, { method: 'POST', headers, body: exampleOffer('sendonly') })
  const refused = await publish('?normalise=true')
  expect([refused.status, await refused.json()]).toMatchObject([503, missing])
  // H.264 without audio is relayed as it is.
  expect((await publish('')).status).toBe(201)
})
