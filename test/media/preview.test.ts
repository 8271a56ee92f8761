import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeFlv, publishFlv } from '../../media/testing/ffmpeg.ts'
import { readTags } from '../../media/testing/flv-file.ts'
import { startSink } from '../../media/testing/sink.ts'
import { MINUTE, type Clock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { foreignRequests, launchBrowser, openPage } from '../support/browser.ts'
import { WEBRTC_FLAGS } from '../support/whip-studio.ts'
import { login, PASSWORD } from '../support/people.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let caster: Broadcaster
let workspaceId: string
let folder: string
let browser: Browser
/** A clock whose wall time can be advanced. Its monotonic time is real, so that nodes do not seem unresponsive. */
let shift = 0
const clock: Clock = { now: () => Date.now() + shift, monotonic: () => performance.now() }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-preview-'))
  app = await startApp({ media: true, clock, env: { ALLOW_PRIVATE_ADDRESSES: '1' } })
  world = new World(app)
  workspaceId = await world.workspace('acme', 'ada')
  caster = new Broadcaster(app, world.as('ada'), workspaceId)
})
afterAll(async () => {
  await browser?.close()
  caster?.close()
  await app?.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Token {
  readonly token: string
  readonly pageUrl: string
  readonly expiresAt: string
}

const newToken = (id: string) => caster.call<Token>('POST /api/streams/{id}/preview-token', { path: { id } })

function previewUrl(id: string, token?: string): string {
  return `${app.url}/api/streams/${id}/preview.flv${token === undefined ? '' : `?token=${token}`}`
}

async function statusOf(id: string, token: string): Promise<number> {
  const controller = new AbortController()
  const { status } = await fetch(previewUrl(id, token), { signal: controller.signal })
  controller.abort()
  return status
}

/** Opens a preview, waits for some tags, and keeps reading until it is closed. */
async function watch(url: string, headers: Record<string, string> = {}) {
  const controller = new AbortController()
  const response = await fetch(url, { headers, signal: controller.signal })
  expect(response.status).toBe(200)
  const chunks: Buffer[] = []
  const seen = { ended: false, tags: () => readTags(Buffer.concat(chunks)), leave: () => controller.abort() }
  void (async () => {
    try {
      for await (const chunk of response.body!) chunks.push(Buffer.from(chunk))
    } catch {}
    seen.ended = true
  })()
  await waitFor(() => seen.tags().length > 20, { what: 'a preview' })
  return { seen, response }
}

test('opens a preview with a credential or token, counts peak viewers, and ends it with the stream', async () => {
  const { _id, streamKey } = await caster.stream({})
  const early = await fetch(previewUrl(_id), { headers: { 'X-API-Key': world.key('ada') } })
  expect(early.status).toBe(409)
  const { publisher } = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  const { token, expiresAt } = await newToken(_id)
  expect(Math.abs(Date.parse(expiresAt) - clock.now() - 10 * MINUTE)).toBeLessThan(MINUTE)
  const first = await watch(previewUrl(_id), { 'X-API-Key': world.key('ada') })
  expect(first.response.headers.get('content-type')).toBe('video/x-flv')
  const second = await watch(previewUrl(_id, token))
  const other = await caster.stream({})
  expect(await statusOf(other._id, token)).toBe(401)
  expect(await statusOf(_id, 'nonsense')).toBe(401)
  expect((await fetch(previewUrl(_id))).status).toBe(401)
  shift += 10 * MINUTE
  expect(await statusOf(_id, token)).toBe(401)
  const fresh = await newToken(_id)
  first.seen.leave()
  const relay = () => caster.call<{ viewers: number }>('GET /api/streams/{id}/relay', { path: { id: _id } })
  await waitFor(async () => (await relay()).viewers === 1)
  expect(second.seen.ended).toBe(false)
  await caster.stop(_id)
  await publisher.closed
  await waitFor(() => second.seen.ended)
  expect(await statusOf(_id, fresh.token)).toBe(401)
  const armed = await caster.call<{ streamKey: string }>('POST /api/streams/{id}/arm', { path: { id: _id } })
  await caster.publish(armed.streamKey)
  await caster.until(_id, 'receiving')
  expect(await statusOf(_id, fresh.token)).toBe(401)
  expect(await statusOf(_id, (await newToken(_id)).token)).toBe(200)
})

test('stores viewers and bitrate of the session, and ends the preview of a removed member', async () => {
  const sink = await startSink()
  const { _id, streamKey } = await caster.stream({ one: sink })
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await world.member('acme', 'bob', { scopes: ['streams:read'] })
  const bob = await watch(previewUrl(_id), { 'X-API-Key': world.key('bob') })
  await caster.goLive(_id)
  const ada = await watch(previewUrl(_id), { 'X-API-Key': world.key('ada') })
  type Session = { _id: string; peakViewers: number }
  const sessions = () => caster.call<Session[]>('GET /api/streams/{id}/sessions', { path: { id: _id } })
  const [session] = await waitFor(
    async () => {
      const found = await sessions()
      return found[0]?.peakViewers === 2 ? found : undefined
    },
    { what: 'two viewers of the session' },
  )
  await caster.call('DELETE /api/team/{workspaceId}/members/{userId}', {
    path: { workspaceId, userId: world.id('bob') },
  })
  await waitFor(() => bob.seen.ended, { what: "the end of bob's preview" })
  expect(ada.seen.ended).toBe(false)
  ada.seen.leave()
  await caster.stop(_id)
  // Measured by the media node, and written when the stream ends.
  type Series = { peakViewers: number; points: { viewers: number | null; bitrate: number | null }[] }
  const path = { id: _id, sessionId: session?._id ?? '' }
  const series = () => caster.call<Series>('GET /api/streams/{id}/sessions/{sessionId}/series', { path })
  const { points } = await waitFor(
    async () => {
      const found = await series()
      return found.points.some(({ viewers }) => viewers === 2) ? found : undefined
    },
    { what: 'a point with two viewers' },
  )
  expect(points.some(({ bitrate }) => bitrate !== null && bitrate > 10_000)).toBe(true)
  await sink.close()
})

test('ends previews and tokens of a revoked API key or session, and no others', async () => {
  const { _id, streamKey } = await caster.stream({})
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  // A new key each time, because the test revokes it.
  const name = `cleo-${streamKey.slice(0, 6).toLowerCase()}`
  const { email } = await world.member('acme', name, { scopes: ['streams:read'] })
  const signedIn = await login(app, email, PASSWORD)
  const token: string = signedIn.body.data.accessToken
  const ticket = async (credential: { token: string } | { apiKey: string }): Promise<string> =>
    (await app.send('POST /api/streams/{id}/preview-token', { ...credential, path: { id: _id } })).body.data.token
  const apiKey = world.key(name)
  const [byKey, bySession] = [await ticket({ apiKey }), await ticket({ token })]
  const viewers = {
    key: await watch(previewUrl(_id), { 'X-API-Key': apiKey }),
    keyTicket: await watch(previewUrl(_id, byKey)),
    session: await watch(previewUrl(_id), { Authorization: `Bearer ${token}` }),
    sessionTicket: await watch(previewUrl(_id, bySession)),
    ada: await watch(previewUrl(_id), { 'X-API-Key': world.key('ada') }),
  }
  const ended = () => Object.entries(viewers).flatMap(([name, { seen }]) => (seen.ended ? [name] : []))
  const renewed = await app.send('POST /api/users/me/api-key', { apiKey })
  expect(renewed.status).toBe(200)
  await waitFor(() => ended().length >= 2, { what: 'the end of the previews of the old key' })
  expect(ended()).toEqual(['key', 'keyTicket'])
  expect(await statusOf(_id, byKey)).toBe(401)
  expect(await statusOf(_id, await ticket({ apiKey: renewed.body.data.apiKey }))).toBe(200)
  expect(await statusOf(_id, bySession)).toBe(200)
  expect((await app.send('POST /api/auth/logout', { token, body: {} })).status).toBe(200)
  await waitFor(() => ended().length >= 4, { what: 'the end of the previews of the session' })
  expect(ended()).toEqual(['key', 'keyTicket', 'session', 'sessionTicket'])
  expect(await statusOf(_id, bySession)).toBe(401)
  await caster.stop(_id)
})

test('plays in a browser without loading from other origins', async () => {
  browser = await launchBrowser()
  const file = join(folder, 'clip.flv')
  await makeFlv(file, 20)
  const { _id, streamKey } = await caster.stream({})
  const { pageUrl } = await newToken(_id)
  const { page, requested, complaints } = await openPage(browser, pageUrl.replace(/^https?:\/\/[^/]+/, app.url))
  await waitFor(async () => (await page.textContent('[role=status]'))?.includes('Waiting for the encoder'))
  const publishing = publishFlv(file, `rtmp://127.0.0.1:${app.config.RTMP_PORT}/live/${streamKey}`)
  const position = () => page.evaluate<number>(`document.querySelector('video').currentTime`)
  await waitFor(async () => (await position()) > 0.5, { what: 'the video to play' })
  const before = await position()
  await waitFor(async () => (await position()) > before + 0.5, { what: 'the video to continue' })
  const picture = await page.evaluate<{ width: number; brightest: number; darkest: number }>(`(() => {
    const video = document.querySelector('video')
    const canvas = document.createElement('canvas')
    canvas.width = 64
    canvas.height = 36
    const context = canvas.getContext('2d')
    context.drawImage(video, 0, 0, 64, 36)
    const { data } = context.getImageData(0, 0, 64, 36)
    const light = []
    for (let at = 0; at < data.length; at += 4) light.push(data[at] + data[at + 1] + data[at + 2])
    return { width: video.videoWidth, brightest: Math.max(...light), darkest: Math.min(...light) }
  })()`)
  expect(picture.width).toBe(640)
  expect(picture.brightest - picture.darkest).toBeGreaterThan(300)
  expect(foreignRequests(requested, app.url)).toEqual([])
  // The browser logs the errors from before the publisher connected, and no others.
  expect(complaints.filter((text) => !/\b409\b/.test(text))).toEqual([])
  await caster.stop(_id)
  await expect(publishing).rejects.toThrow('ffmpeg ended')
  await waitFor(async () => (await page.textContent('[role=alert]'))?.includes('no longer valid'))
  await page.close()
})

test('resumes playing after the WebRTC process was killed, and reports the loss', async () => {
  const file = join(folder, 'webrtc.flv')
  await makeFlv(file, 60)
  const { _id, streamKey } = await caster.stream({})
  const publishing = publishFlv(file, `rtmp://127.0.0.1:${app.config.RTMP_PORT}/live/${streamKey}`)
  await caster.until(_id, 'receiving')
  const { pageUrl } = await newToken(_id)
  const watching = await launchBrowser(WEBRTC_FLAGS)
  const page = await watching.newPage()
  const url = pageUrl.replace(/^https?:\/\/[^/]+/, app.url)
  const isWebrtc = () =>
    page.evaluate<boolean>(
      `document.querySelector('video').srcObject !== null && document.querySelector('video').currentTime > 0`,
    )
  await waitFor(
    async () => {
      await page.goto(url)
      await waitFor(async () => (await page.textContent('[role=status]')) === 'Live')
      return isWebrtc()
    },
    { what: 'the page to play over WebRTC' },
  )
  await page.evaluate(`globalThis.before = document.querySelector('video').srcObject`)
  const entries = app.composition.services.mediaNodes.directory.nodes()
  const pid = entries.flatMap(({ status }) => status?.whip?.pid ?? [])[0]
  process.kill(pid!, 'SIGKILL')
  // The page reconnects by itself.
  await waitFor(
    () =>
      page.evaluate<boolean>(`(() => {
        const { currentTime, srcObject } = document.querySelector('video')
        return srcObject !== null && srcObject !== before && currentTime > 0.5
      })()`),
    { what: 'the page to play again' },
  )
  const warning = await waitFor(() =>
    app.database.row<{ message: string }>(
      `select data->>'message' as message from workspace_events
       where type = 'stream.warning' and data->>'streamId' = $1 and data->>'code' = 'webrtc_lost'`,
      [_id],
    ),
  )
  expect(warning.message).toContain('disconnected 1 viewer.')
  const counted = await app.node.resources.metrics.getSingleMetricAsString('crier_whip_sessions_lost_total')
  expect(counted).toContain('kind="viewer"} 1')
  await watching.close()
  await caster.stop(_id)
  await expect(publishing).rejects.toThrow('ffmpeg ended')
})
