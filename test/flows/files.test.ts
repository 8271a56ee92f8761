import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, systemClock, type Clock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { makeBigVideo } from '../support/big-video.ts'
import { launchBrowser } from '../support/browser.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** The life of a large video: upload over an unreliable connection, inspection, rendition, playback, deletion. */

const BYTES = 200_000_000
const PATIENT = { timeoutMs: 120_000 }

let app: App
let browser: Browser
let folder: string
let ahead = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead }
const sockets = new Sockets(() => app)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-flow-'))
  ;[app, browser] = await Promise.all([
    startApp({ clock, jobTimes: { schedulesAfterMs: 3_600_000 } }),
    launchBrowser(),
    makeBigVideo(join(folder, 'show.mp4'), BYTES, 4),
  ])
})
afterAll(async () => {
  sockets.end()
  await browser?.close()
  await app?.stop()
  await rm(folder, { recursive: true, force: true })
})

/**
 * Sends the rest of the file, or as far as `upTo`, where it waits until the connection is cut. Returns `refused` when the
 * server closed the connection before its reply could be read.
 */
function sendFrom(url: string, start: number, upTo?: number, cut?: Promise<unknown>) {
  return new Promise<number | 'cut' | 'refused'>((resolve) => {
    const headers = {
      'Content-Type': 'video/mp4',
      'Content-Range': `bytes ${start}-${BYTES - 1}/${BYTES}`,
      'Content-Length': BYTES - start,
    }
    const put = request(url, { method: 'PUT', headers })
    const content = createReadStream(join(folder, 'show.mp4'), { start, end: (upTo ?? BYTES) - 1 })
    put.on('response', (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode ?? 0))
    })
    let isCut = false
    put.on('error', () => resolve(isCut ? 'cut' : 'refused'))
    content.pipe(put, { end: upTo === undefined })
    void cut?.then(() => {
      isCut = true
      content.destroy()
      return put.destroy()
    })
  })
}

test('uploads a 200 MB video over a connection that is cut twice, plays it and deletes it', async () => {
  const world = new World(app)
  await world.user('ada', { plan: 'business' })
  const workspaceId = await world.workspace('acme', 'ada')
  const { events } = await sockets.connect(world.key('ada'))
  const eventsNamed = (name: string) => events.filter((one) => one.name === name).map(({ data }) => data)
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  const call = async (route: string, options: object = {}): Promise<any> => {
    const reply = await world.as('ada').call(route, options)
    expect(reply.status, `${route}: ${reply.text}`).toBeLessThan(300)
    return reply.body.data
  }
  const usage = async () => (await call('GET /api/assets/storage', { query: { workspaceId } })).quota
  const { left } = await usage()

  const body = { workspaceId, name: 'show.mp4', size: BYTES, type: 'video/mp4' }
  const { uploadId, url } = await call('POST /api/assets/signed-upload', { body })
  expect((await usage()).left).toBe(left - BYTES)
  const path = { uploadId }
  const received = async (): Promise<number> => (await call('GET /api/uploads/{uploadId}', { path })).received
  // Like any client, wait while the server still writes the previous piece.
  const goOn = (upTo?: number, cut?: Promise<unknown>) =>
    waitFor(
      async () => {
        const sent = await sendFrom(url, await received(), upTo, cut)
        return sent === 'refused' || sent === 409 ? undefined : sent
      },
      { ...PATIENT, what: 'the next piece to be taken' },
    )
  for (const cutAt of [40_000_000, 110_000_000]) {
    const cut = waitFor(async () => (await received()) >= cutAt, { ...PATIENT, what: `${cutAt} bytes` })
    expect(await goOn(cutAt + 5_000_000, cut)).toBe('cut')
    await waitFor(() => eventsNamed('upload.progress').some((one) => one.received >= cutAt), PATIENT)
    expect(await received()).toBeLessThan(BYTES)
  }
  expect(await goOn()).toBe(200)
  const steps = eventsNamed('upload.progress').filter((one) => one.uploadId === uploadId)
  expect(steps.map((one) => one.received)).toEqual(steps.map((one) => one.received).toSorted((a, b) => a - b))
  await waitFor(() => eventsNamed('upload.progress').at(-1)?.received === BYTES, PATIENT)
  const { _id: id } = await call('POST /api/assets/signed-upload/{uploadId}/confirm', { path })
  expect((await usage()).used).toBe(BYTES)

  const asset = await waitFor(
    async () => {
      const found = await call('GET /api/assets/{id}', { path: { id } })
      return found.thumbnail.status === 'pending' ? undefined : found
    },
    { ...PATIENT, what: 'thumbnails' },
  )
  expect(asset).toMatchObject({ width: 640, height: 360, codecs: { video: 'h264', audio: 'aac' } })
  const thumbnail = asset.thumbnail.images.find((image: { name: string }) => image.name === 'medium')
  expect(thumbnail).toMatchObject({ width: 480, height: 270 })

  const ordered = await call('POST /api/assets/{id}/renditions', { path: { id }, body: { preset: 'square', crf: 35 } })
  const last = () => eventsNamed('rendition.updated').at(-1)?.data
  await waitFor(() => last()?.status !== 'pending' && last() !== undefined, { ...PATIENT, what: 'the rendition' })
  expect(last()).toMatchObject({ _id: ordered._id, status: 'ready', width: 360, height: 360 })
  expect(eventsNamed('job.progress').some((one) => one.jobId === ordered.jobId)).toBe(true)
  expect((await usage()).used).toBe(BYTES + last().size)

  await watch(app.url + asset.signedUrl, app.url + last().signedUrl, app.url + thumbnail.signedUrl)

  await call('DELETE /api/assets/{id}', { path: { id } })
  expect(await usage()).toMatchObject({ used: 0, held: 0, left })
  const files = async () =>
    (await readdir(join(app.dataDir, 'storage', 'files'), { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    ).length
  expect(await files()).toBeGreaterThan(4)
  ahead = 31 * DAY
  await app.composition.services.assets.housekeeping.emptyBin()
  expect(await files()).toBe(0)
})

/** Runs in the page: shows a picture, plays videos and seeks in them. @returns their sizes */
const PLAY = `async ([picture, ...videos]) => {
  const shown = new Image()
  shown.src = picture
  await shown.decode()
  const sizes = [[shown.naturalWidth, shown.naturalHeight]]
  for (const src of videos) {
    const element = Object.assign(document.createElement('video'), { muted: true, src })
    document.body.append(element)
    const event = (name) =>
      new Promise((resolve, reject) => {
        element.addEventListener(name, resolve, { once: true })
        element.addEventListener('error', () => reject(new Error(element.error?.message)), { once: true })
      })
    await element.play()
    await event('timeupdate')
    const seeked = event('seeked')
    element.currentTime = 3.5
    await seeked
    sizes.push([element.videoWidth, element.videoHeight, Math.round(element.duration)])
  }
  return sizes
}`

/** Plays both videos and seeks to their ends. The browser fetches only the parts it shows. */
async function watch(video: string, rendition: string, picture: string): Promise<void> {
  const page = await browser.newPage()
  const ranges: string[] = []
  page.on('response', (reply) => {
    const range = reply.headers()['content-range']
    if (reply.status() === 206 && reply.url() === video && range) ranges.push(range)
  })
  await page.goto(`${app.url}/docs/errors`)
  const played = await page.evaluate(`(${PLAY})(${JSON.stringify([picture, video, rendition])})`)
  expect(played).toEqual([
    [480, 270],
    [640, 360, 4],
    [360, 360, 4],
  ])
  const starts = ranges.map((range) => Number(/^bytes (\d+)-/.exec(range)?.[1]))
  expect(starts.some((start) => start > BYTES * 0.9)).toBe(true)
  await page.close()
}
