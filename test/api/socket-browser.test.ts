import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromSnapshot, stateHash } from '../../src/domains/talk/chat/state.ts'
import { startApp, type App } from '../support/app.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { cutProxy, type CutProxy } from '../support/cut-proxy.ts'
import { servePage, type SourcePages } from '../support/source-pages.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const PAGE = `<!doctype html><title>Chat</title><link rel="icon" href="data:,"><ul></ul><script type="module">
import { io } from '/socket.io.js'
import { stateHash } from '/src/domains/talk/chat/state.ts'
import { SocketClient } from '/src/sdk/socket-client.ts'
window.join = ({ url, token, place }) => {
  const crier = new SocketClient({ url, io, token, retryDelayMs: 50, timeoutMs: 5000 })
  const channel = crier.channel(place)
  channel.subscribe(({ state }) => {
    document.querySelector('ul').innerHTML = ''
    for (const { body } of state.messages) document.querySelector('ul').append(Object.assign(document.createElement('li'), { textContent: body }))
  })
  window.chat = { channel, hash: () => stateHash(channel.view.state), isLive: () => channel.view.isLive, say: (body) => void channel.send({ body }) }
}
</script>`

/** The functions that the page offers to the test. */
interface ChatWindow {
  join(options: object): void
  readonly chat: { hash(): string; isLive(): boolean; say(body: string): void }
}

let app: App
let world: World
let pages: SourcePages
let proxy: CutProxy
let browser: Browser

beforeAll(async () => {
  pages = await servePage(PAGE)
  app = await startApp({ env: { CORS_ORIGINS: pages.origin } })
  proxy = await cutProxy(app.url)
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'bob', { role: 'editor' })
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await proxy?.close()
  await app?.stop()
  pages?.close()
})

const messages = 'POST /api/team/{workspaceId}/channels/{channelId}/messages'

test('a page joins, sends, goes offline, reconnects and has the correct state', async () => {
  const workspaceId = world.id('acme')
  const made = await world.as('ada').call('POST /api/team/{workspaceId}/channels', {
    path: { workspaceId },
    body: { kind: 'channel', name: 'browser', private: true, memberIds: [world.id('bob')] },
  })
  const place = { workspaceId, channelId: made.body.data._id as string }
  const say = async (body: string): Promise<string> => {
    const sent = await world.as('bob').call(messages, { path: place, body: { body } })
    expect(sent.status, sent.text).toBe(201)
    return sent.body.data._id
  }
  const one = `${messages.replace('POST ', '')}/{messageId}`
  const context = await browser.newContext()
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  await page.goto(pages.origin)
  await page.waitForFunction(() => 'join' in globalThis)
  const join = { url: proxy.url.replace(/\/$/, ''), token: world.key('ada'), place }
  await page.evaluate((options) => (globalThis as unknown as ChatWindow).join(options), join)
  await waitFor(() => isLive(page), { what: 'the page to be live' })
  const first = await say('first')
  const second = await say('second')
  await page.evaluate(() => (globalThis as unknown as ChatWindow).chat.say('from the page'))
  await waitFor(async () => (await shown(page)).includes('from the page'))

  await context.setOffline(true)
  proxy.away(true)
  await waitFor(async () => !(await isLive(page)), { what: 'the page to notice' })
  await page.evaluate(() => (globalThis as unknown as ChatWindow).chat.say('written while away'))
  await world.as('bob').call(`PATCH ${one}`, { path: { ...place, messageId: first }, body: { body: 'first, edited' } })
  await world.as('bob').call(`DELETE ${one}`, { path: { ...place, messageId: second } })
  await say('third')
  expect(await shown(page)).toEqual(['first', 'second', 'from the page'])

  proxy.away(false)
  await context.setOffline(false)
  const truth = async () =>
    stateHash(
      fromSnapshot(await app.composition.services.chat.log.snapshot(workspaceId, world.id('ada'), place.channelId)),
    )
  await waitFor(async () => (await shown(page)).includes('written while away'))
  await waitFor(async () => (await hash(page)) === (await truth()))
  expect(await shown(page)).toEqual(['first, edited', '', 'from the page', 'third', 'written while away'])
  expect(complaints).toEqual([])
  await context.close()
})

const isLive = (page: Page) => page.evaluate(() => (globalThis as unknown as ChatWindow).chat.isLive())
const hash = (page: Page) => page.evaluate(() => (globalThis as unknown as ChatWindow).chat.hash())
const shown = (page: Page) => page.locator('li').allTextContents()
