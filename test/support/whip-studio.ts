import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { toolPath } from './tools.ts'

/** Resolves the dependencies of one of the clients from its own folder. */
const fromClient = createRequire(createRequire(import.meta.url).resolve('@eyevinn/whip-web-client'))
const run = promisify(execFile)

/** Flags that give chromium a fake camera, and let it connect over loopback. */
export const WEBRTC_FLAGS = [
  '--allow-loopback-in-peer-connection',
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  '--autoplay-policy=no-user-gesture-required',
]

export interface Studio {
  readonly origin: string
  close(): void
}

/** Serves the publishing page. */
export async function startStudio(): Promise<Studio> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('pages/whip-page.js', import.meta.url)),
    platform: 'browser',
    resolve: { alias: { events: fromClient.resolve('events/') } },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm' })
  await bundle.close()
  const server = createServer(({ url }, response) => {
    const isScript = url === '/page.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? output[0].code : '<!doctype html><script type="module" src="/page.js"></script>')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() }
}

export interface Performance {
  readonly client: 'page' | 'whip-whep' | '@eyevinn/whip-web-client'
  readonly source: 'clock' | 'camera'
  /** For example `video/VP8`. By default the browser chooses. */
  readonly codec?: string
  readonly url: string
  readonly token: string
}

interface StudioWindow {
  go(performance: Performance): Promise<void>
  stop(): Promise<void>
  leave(): void
  state(): string | undefined
  sent(): Promise<Record<string, number | string | undefined>>
  isReady?: true
}

/** Controls the page. */
export const studio = {
  go: (page: Page, performance: Performance) =>
    page.evaluate((given) => (globalThis as unknown as StudioWindow).go(given), performance),
  stop: (page: Page) => page.evaluate(() => (globalThis as unknown as StudioWindow).stop()),
  leave: (page: Page) => page.evaluate(() => (globalThis as unknown as StudioWindow).leave()),
  state: (page: Page) => page.evaluate(() => (globalThis as unknown as StudioWindow).state()),
  sent: (page: Page) => page.evaluate(() => (globalThis as unknown as StudioWindow).sent()),
  ready: (page: Page) => page.waitForFunction(() => (globalThis as unknown as StudioWindow).isReady),
}

/** The number of bars that encode the clock in a picture. */
export const BARS = 40

/** The times on the pictures of a recording, in milliseconds modulo 2^32; null for an unreadable one. */
export async function readClock(file: string): Promise<(number | null)[]> {
  const { command } = toolPath('ffmpeg')
  const strip = `crop=iw:ih/16:0:ih/32,scale=${BARS}:1:flags=area`
  const options = { encoding: 'buffer' as const, maxBuffer: 64 * 1024 * 1024 }
  const args = ['-v', 'error', '-i', file, '-vf', strip, '-pix_fmt', 'gray', '-fps_mode', 'passthrough']
  const { stdout } = await run(command, [...args, '-f', 'rawvideo', '-'], options)
  return Array.from({ length: Math.floor(stdout.length / BARS) }, (_none, index) =>
    readBars(stdout.subarray(index * BARS, (index + 1) * BARS)),
  )
}

/** Decodes the time from a picture's strip of bars, given as 40 gray values. */
export function readBars(row: ArrayLike<number>): number | null {
  const bits = Array.from(row, (gray) => (gray > 127 ? 1 : 0))
  const valueOf = (part: readonly number[]) => part.reduce<number>((value, bit) => value * 2 + bit, 0)
  const time = valueOf(bits.slice(0, 32))
  const check = ((time >>> 24) ^ (time >>> 16) ^ (time >>> 8) ^ time) & 0xff
  return check === valueOf(bits.slice(32)) ? time : null
}
