import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { launchBrowser } from '../support/browser.ts'
import { World } from '../support/world.ts'

/** Runs the examples of /docs/sockets unchanged, on the page itself. */

const PAGE_URL = 'http://localhost:3000'
let app: App
let world: World
let browser: Browser
let libraries: string
let place: { workspaceId: string; channelId: string }

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  const workspaceId = await world.workspace('acme', 'ada')
  const made = await world.as('ada').call('POST /api/team/{workspaceId}/channels', {
    path: { workspaceId },
    body: { kind: 'channel', name: 'docs', private: false },
  })
  expect(made.status, made.text).toBe(201)
  place = { workspaceId, channelId: made.body.data._id as string }
  libraries = await bundle()
  browser = await launchBrowser(['--host-resolver-rules=MAP crier.test 127.0.0.1'])
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

/** The libraries that the examples import, as one script that sets `globalThis.libraries`. */
async function bundle(): Promise<string> {
  const name = '\0libraries'
  const client = fileURLToPath(new URL('../../src/sdk/socket-client.ts', import.meta.url))
  const built = await rolldown({
    input: name,
    platform: 'browser',
    logLevel: 'silent',
    plugins: [
      {
        name: 'libraries',
        resolveId: (id) => (id === name ? id : null),
        load: (id) =>
          id === name
            ? `export { io } from 'socket.io-client'; export { SocketClient } from ${JSON.stringify(client)}`
            : null,
      },
    ],
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  })
  const { output } = await built.generate({ format: 'iife', name: 'libraries' })
  await built.close()
  return output[0].code.replace(/^var libraries/m, 'globalThis.libraries')
}

/** The n-th example of the page, for a server at `url`, as the body of a function. */
async function example(page: Page, index: number, url: string): Promise<string> {
  const texts = await page.locator('pre').allTextContents()
  const text = texts.filter((candidate) => candidate.startsWith('import '))[index] ?? ''
  expect(text).toContain(PAGE_URL)
  return text.replaceAll(/^import (\{.*\}) from .*$/gm, 'const $1 = libraries').replaceAll(PAGE_URL, url)
}

async function open(host: string): Promise<Page> {
  const context = await browser.newContext({ bypassCSP: true })
  const page = await context.newPage()
  await page.goto(`http://${host}:${app.port}/docs/sockets`)
  await page.addScriptTag({ content: libraries })
  return page
}

test.each(['127.0.0.1', 'crier.test'])('both examples run on the page loaded from %s', async (host) => {
  const page = await open(host)
  const url = `http://${host}:${app.port}`
  const given = JSON.stringify({ ...place, token: world.key('ada') })
  const connect = await example(page, 0, url)
  const reply = await page.evaluate(`(async () => {
    const { workspaceId, channelId, token } = ${given}
    ${connect}
    socket.close()
    return { status, hasMessages: Array.isArray(body.data) }
  })()`)
  expect(reply).toEqual({ status: 200, hasMessages: true })

  const follow = await example(page, 1, url)
  const rendered = await page.evaluate(`(async () => {
    const { workspaceId, channelId, token } = ${given}
    const freshAccessToken = () => token
    const { promise, resolve } = Promise.withResolvers()
    const render = (messages) => {
      const last = messages.at(-1)
      if (last) resolve(last.body)
    }
    ${follow}
    const rendered = await promise
    crier.close()
    return rendered
  })()`)
  expect(rendered).toBe('Hello')
  await page.context().close()
})

test('reports to a page of another origin, and in the log, why it is rejected', async () => {
  const page = await open('crier.test')
  const refused = await page.evaluate(`(async () => {
    const socket = libraries.io('http://127.0.0.1:${app.port}', { auth: { token: ${JSON.stringify(world.key('ada'))} }, transports: ['websocket'] })
    const error = await new Promise((resolve) => socket.once('connect_error', resolve))
    socket.close()
    return error.data
  })()`)
  expect(refused).toEqual({ code: 'origin_not_allowed', message: expect.stringMatching(/CORS_ORIGINS.*PUBLIC_URL/) })
  const code = await page.evaluate(`new Promise((resolve) => {
    new libraries.SocketClient({
      url: 'http://127.0.0.1:${app.port}',
      io: libraries.io,
      token: () => ${JSON.stringify(world.key('ada'))},
      onRefused: resolve,
    })
  })`)
  expect(code).toBe('origin_not_allowed')
  const origin = `http://crier.test:${app.port}`
  expect(app.logs).toContainEqual(
    expect.objectContaining({ level: 40, reason: origin, msg: expect.stringContaining('CORS_ORIGINS') }),
  )
  await page.context().close()
})
