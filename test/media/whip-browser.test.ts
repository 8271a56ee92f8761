import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { launchBrowser } from '../support/browser.ts'
import { startNginxRtmp, type RtmpServer } from '../support/rtmp-servers.ts'
import { toolPath } from '../support/tools.ts'
import { waitFor } from '../support/wait.ts'
import {
  BARS,
  readBars,
  readClock,
  startStudio,
  studio,
  WEBRTC_FLAGS,
  type Performance,
  type Studio,
} from '../support/whip-studio.ts'
import { World } from '../support/world.ts'

/** A real browser publishes through the API and WebRTC to two RTMP servers. */

let app: App
let caster: Broadcaster
let pages: Studio
let nginx: RtmpServer
let folder: string
let browser: Browser
const complaints: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-whip-'))
  pages = await startStudio()
  app = await startApp({ media: true, env: { ALLOW_PRIVATE_ADDRESSES: '1', CORS_ORIGINS: pages.origin } })
  const world = new World(app)
  await world.user('ada', { plan: 'business' })
  const workspaceId = await world.workspace('acme', 'ada')
  caster = new Broadcaster(app, world.as('ada'), workspaceId)
  nginx = await startNginxRtmp(folder)
  browser = await launchBrowser(WEBRTC_FLAGS)
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await nginx?.stop()
  pages?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Browsers encode, decode and connect in real time, also on a busy machine. */

let started = 0

/** A page that publishes, its stream and its destinations. */
class Show {
  readonly id: string
  readonly page: Page
  readonly sink: Sink
  readonly #name: string

  constructor(id: string, page: Page, sink: Sink, name: string) {
    this.id = id
    this.page = page
    this.sink = sink
    this.#name = name
  }

  static async begin(title: string, how: Omit<Performance, 'url' | 'token'>): Promise<Show> {
    // The number keeps a retried test from finding the recordings of its first run.
    const name = `${title}-${(started += 1)}-`
    const sink = await startSink()
    const platforms = [
      { platform: 'custom', accountId: await caster.destination(`sink-${name}`, sink.port) },
      { platform: 'custom', accountId: await caster.destination(`nginx-${name}`, Number(new URL(nginx.url).port)) },
    ]
    const { _id } = await caster.stream({})
    const armed = await caster.call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
      path: { id: _id },
      body: { platforms },
    })
    await caster.goLive(_id, { waitForIngest: true })
    const page = await browser.newPage()
    page.on('pageerror', (error) => void complaints.push(error.message))
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
    await page.goto(pages.origin)
    await studio.ready(page)
    await studio.go(page, { ...how, url: armed.whipUrl, token: armed.whipToken })
    return new Show(_id, page, sink, name)
  }

  frames(kind: 'audio' | 'video') {
    return this.sink.messages(kind).filter(({ isSequenceHeader }) => !isSequenceHeader)
  }

  /** Waits until both destinations have received this many frames, and audio. */
  async run(count: number): Promise<void> {
    await caster.until(this.id, 'live')
    await caster.untilDestination(this.id, `nginx-${this.#name}`, 'live')
    const [video, audio] = [this.frames('video').length, this.frames('audio').length]
    const hasArrived = () => this.frames('video').length > video + count && this.frames('audio').length > audio + count
    await waitFor(hasArrived, { what: `${count} frames of ${this.#name}` })
    // The status of the media process follows within a second.
    const ingest = await waitFor(async () => {
      const path = { id: this.id }
      const relay = await caster.call<{ ingest: { audioCodec?: string; videoCodec?: string } | null }>(
        'GET /api/streams/{id}/relay',
        {
          path,
        },
      )
      return relay.ingest?.audioCodec && relay.ingest.videoCodec ? relay.ingest : undefined
    })
    expect(ingest).toMatchObject({ videoCodec: 'h264', audioCodec: 'aac' })
    const isRecorded = async () => {
      const codecs = await codecsOf(this.recording())
      if (codecs.length === 2) return true
      const relay = await caster.call('GET /api/streams/{id}/relay', { path: { id: this.id } })
      throw new Error(JSON.stringify({ name: this.#name, codecs, files: nginx.recordings(), relay }))
    }
    await waitFor(isRecorded, { what: 'video and audio in the recording' })
  }

  /** Path of nginx's recording. */
  recording(): string {
    return nginx.recordings().find((file) => file.includes(`key-for-nginx-${this.#name}`)) ?? ''
  }

  /** Ends the stream after the page has stopped publishing. @returns the path of nginx's recording */
  async end(): Promise<string> {
    await caster.until(this.id, 'interrupted')
    await caster.stop(this.id)
    await waitFor(() => this.sink.last()?.closed)
    await this.page.close()
    await this.sink.close()
    return this.recording()
  }
}

async function probe(file: string, ...args: string[]): Promise<string[]> {
  const { command } = toolPath('ffprobe')
  const { stdout } = await promisify(execFile)(command, ['-v', 'error', ...args, '-of', 'csv=p=0', file])
  return stdout.trim().split('\n')
}

const codecsOf = async (file: string) => (await probe(file, '-show_entries', 'stream=codec_name')).sort()

/** Milliseconds from the first frame to the last, by the timestamps in the file. */
async function lengthOf(file: string): Promise<number> {
  const times = await probe(file, '-select_streams', 'v', '-show_entries', 'packet=pts_time')
  return (Number.parseFloat(times.at(-1)!) - Number.parseFloat(times[0]!)) * 1_000
}

test('publishes video and audio from a page, with every frame in order', async () => {
  const startedAt = Date.now()
  const show = await Show.begin('clock', { client: 'page', source: 'clock' })
  await show.run(45)
  await studio.stop(show.page)
  const recording = await show.end()
  expect(await codecsOf(recording)).toEqual(['aac', 'h264'])
  const times = await readClock(recording)
  const read = times.filter((time) => time !== null)
  // Every frame can be decoded and shows a later time than the one before.
  expect(read.length).toBe(times.length)
  expect(read.length).toBeGreaterThan(40)
  expect(read.toSorted((a, b) => a - b)).toEqual(read)
  const real = [startedAt, Date.now()].map((time) => time % 2 ** 32)
  expect(read[0]).toBeGreaterThanOrEqual(real[0]!)
  expect(read.at(-1)).toBeLessThanOrEqual(real[1]!)
  // The timestamps of the stream advance as fast as the clock.
  expect(Math.abs(read.at(-1)! - read[0]! - (await lengthOf(recording)))).toBeLessThan(1_000)
  expect(complaints.splice(0)).toEqual([])
})

/** Script that returns the gray values of the bars in the video that a page plays. */
const READ_BARS = `(() => {
  const video = document.querySelector('video')
  const canvas = Object.assign(document.createElement('canvas'), { width: ${BARS}, height: 1 })
  const context = canvas.getContext('2d')
  const { videoHeight, videoWidth } = video
  context.drawImage(video, 0, videoHeight / 32, videoWidth, videoHeight / 16, 0, 0, ${BARS}, 1)
  const { data } = context.getImageData(0, 0, ${BARS}, 1)
  return Array.from({ length: ${BARS} }, (_none, bar) => data[bar * 4])
})()`

/** Script that returns whether a page receives audio over WebRTC. After a reconnect the page plays another MediaStream. */
const HAS_AUDIO = `(() => {
  const { srcObject } = document.querySelector('video')
  if (srcObject === null) return false
  if (globalThis.analyzed !== srcObject) {
    globalThis.analyzed = srcObject
    globalThis.audioContext ??= new AudioContext()
    globalThis.analyser = audioContext.createAnalyser()
    audioContext.createMediaStreamSource(srcObject).connect(analyser)
  }
  const samples = new Float32Array(analyser.fftSize)
  analyser.getFloatTimeDomainData(samples)
  return Math.max(...samples) > 0.1
})()`

test('plays a stream with audio in another page over WebRTC until it ends', async () => {
  const show = await Show.begin('watched', { client: 'page', source: 'clock' })
  await show.run(10)
  const { pageUrl } = await caster.call<{ pageUrl: string }>('POST /api/streams/{id}/preview-token', {
    path: { id: show.id },
  })
  const context = await browser.newContext()
  const page = await context.newPage()
  const url = pageUrl.replace(/^https?:\/\/[^/]+/, app.url)
  // On a busy machine the first frame can take so long that the page falls back to FLV.
  await waitFor(
    async () => {
      await page.goto(url)
      await waitFor(async () => (await page.textContent('[role=status]')) === 'Live')
      return page.evaluate<boolean>(`document.querySelector('video').srcObject !== null`)
    },
    { what: 'the page to play over WebRTC' },
  )
  const seen = new Set<number>()
  const countFrames = async () => {
    const time = readBars(await page.evaluate<number[]>(READ_BARS))
    // Before the first frame the video is black, which reads as 0.
    if (time) seen.add(time)
    return seen.size
  }
  await waitFor(async () => (await countFrames()) >= 30, { what: 'frames on the page' })
  expect([...seen].toSorted((one, other) => one - other)).toEqual([...seen])
  // The publishing page sends a tone.
  await waitFor(() => page.evaluate<boolean>(HAS_AUDIO), { what: 'audio on the page' })
  const viewers = async () =>
    (await caster.call<{ viewers: number }>('GET /api/streams/{id}/relay', { path: { id: show.id } })).viewers
  await waitFor(async () => (await viewers()) === 1, { what: 'one viewer to be counted' })
  await page.goto('about:blank')
  await waitFor(async () => (await viewers()) === 0, { what: 'the viewer to disconnect' })
  await page.goto(url)
  await waitFor(async () => (await page.textContent('[role=status]')) === 'Live')
  await caster.stop(show.id)
  await waitFor(async () => (await page.textContent('[role=alert]'))?.includes('no longer valid'))
  await Promise.all([context.close(), show.page.close(), show.sink.close()])
})

test('works with two npm clients, and with VP8 from a page that disappears', async () => {
  const shows = await Promise.all([
    Show.begin('medooze', { client: 'whip-whep', source: 'camera' }),
    Show.begin('eyevinn', { client: '@eyevinn/whip-web-client', source: 'camera' }),
    Show.begin('vp8', { client: 'page', source: 'camera', codec: 'video/VP8' }),
  ])
  await Promise.all(shows.map((show) => show.run(25)))
  const [medooze, eyevinn, vp8] = shows
  await Promise.all([studio.stop(medooze.page), studio.stop(eyevinn.page), studio.leave(vp8.page)])
  const recordings = await Promise.all(shows.map((show) => show.end()))
  for (const recording of recordings) expect(await codecsOf(recording)).toEqual(['aac', 'h264'])
  // A client that disconnects before its DELETE gets 404.
  expect(complaints.splice(0).filter((complaint) => !complaint.includes('404'))).toEqual([])
})

test('runs the script from the README unchanged', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, script = ''] = /## Going live from a browser[\s\S]*?```js\n([\s\S]*?)```/.exec(readme) ?? []
  const [, later = ''] = /^\/\/ Later: (.*)$/m.exec(script) ?? []
  expect(later).toContain('DELETE')
  const sink = await startSink()
  const platforms = [{ platform: 'custom', accountId: await caster.destination(`readme-${(started += 1)}`, sink.port) }]
  const { _id } = await caster.stream({})
  const path = { id: _id }
  const armed = await caster.call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
    path,
    body: { platforms },
  })
  await caster.goLive(_id, { waitForIngest: true })
  const page = await browser.newPage()
  await page.goto(pages.origin)
  const values = [armed.whipUrl, armed.whipToken].map((value) => JSON.stringify(value)).join()
  await page.evaluate(
    `(async (whipUrl, whipToken) => { ${script}; globalThis.later = async () => { ${later} } })(${values})`,
  )
  await caster.until(_id, 'live')
  const frameCount = () => sink.messages('video').filter(({ isSequenceHeader }) => !isSequenceHeader).length
  await waitFor(() => frameCount() > 10, { what: 'frames at the destination' })
  await page.evaluate('later()')
  await caster.until(_id, 'interrupted')
  await caster.stop(_id)
  await Promise.all([page.close(), sink.close()])
})
