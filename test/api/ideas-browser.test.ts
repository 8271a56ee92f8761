import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { servePage, type SourcePages } from '../support/source-pages.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** A board in several browsers, whose users drag the same cards with the mouse at the same time. */

const PAGE = `<!doctype html><title>Board</title><link rel="icon" href="data:,">
<style>
  main { display: flex; gap: 20px; align-items: flex-start } ol { width: 200px; min-height: 300px; margin: 0; padding: 0; background: #eee }
  li { height: 30px; margin: 4px; background: #fff; list-style: none; user-select: none }
</style>
<main></main><script type="module">
import { io } from '/socket.io.js'
import { SocketClient } from '/src/sdk/socket-client.ts'
const main = document.querySelector('main')
window.showBoard = ({ boardId, cards, columns, token, url }) => {
  const known = new Map(cards.map((card) => [card._id, card]))
  const client = new SocketClient({ url, io, token })
  const replies = []
  let sent = 0
  let drag
  const draw = () => {
    main.replaceChildren(...columns.map((column) => {
      const list = Object.assign(document.createElement('ol'), { id: column })
      const own = [...known.values()].filter((card) => card.column === column).sort((x, y) => (x.rank < y.rank ? -1 : 1))
      list.append(...own.map((card) => Object.assign(document.createElement('li'), { id: card._id, textContent: card.title })))
      return list
    }))
  }
  client.onMessage((name, { data }) => {
    if (name !== 'idea.moved' || data.boardId !== boardId) return
    const before = known.get(data._id)
    if ((before.seen ?? 0) < data.seq) known.set(data._id, { ...data, seen: data.seq })
    if (!drag) draw()
  })
  main.addEventListener('mousedown', ({ target }) => { drag = target.closest('li')?.id })
  addEventListener('mouseup', ({ target, clientY }) => {
    const id = drag
    drag = undefined
    const column = target.closest?.('ol')?.id
    if (!id || !column) return
    const over = target.closest('li')
    const box = over?.getBoundingClientRect()
    const beside = !over || over.id === id ? {} : clientY < box.top + box.height / 2 ? { before: over.id } : { after: over.id }
    sent += 1
    client.call('moveIdea', { path: { id }, body: { boardId, column, ...beside } }).then(
      ({ status }) => replies.push(status), (error) => replies.push(error.code ?? error.message))
    draw()
  })
  draw()
  window.board = { isConnected: () => client.isConnected, replies: () => replies, isDone: () => sent === replies.length }
}
</script>`

/** The functions that the page offers to the test. */
interface BoardWindow {
  showBoard(options: object): void
  readonly board: { isConnected(): boolean; isDone(): boolean; replies(): (number | string)[] }
}

interface Card {
  readonly _id: string
  readonly title: string
  readonly column: string
  readonly rank: string
}

let app: App
let world: World
let pages: SourcePages
let browser: Browser

beforeAll(async () => {
  pages = await servePage(PAGE)
  app = await startApp({ env: { CORS_ORIGINS: pages.origin } })
  world = new World(app)
  await world.workspace('acme', 'ada')
  browser = await sharedBrowser()
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
  pages?.close()
})

const board = (page: Page) => page.evaluate(() => (globalThis as unknown as BoardWindow).board.replies())
const shown = (page: Page) => page.locator('li').allTextContents()

/** Drags a card onto another one, in steps as a hand does. */
async function drag(page: Page, card: string, onto: string): Promise<void> {
  // A card has no place for a moment while the board is drawn again.
  const [from, to] = await waitFor(async () => {
    const boxes = await Promise.all([card, onto].map((title) => page.getByText(title, { exact: true }).boundingBox()))
    const [one, other] = boxes
    return one && other ? ([one, other] as const) : undefined
  })
  await page.mouse.move(from.x + 20, from.y + 10)
  await page.mouse.down()
  await page.mouse.move(to.x + 20, to.y + 20, { steps: 5 })
  await page.mouse.up()
}

test('three browsers that drag the same cards at once show the same board in the end', async () => {
  const ada = world.as('ada')
  const inWorkspace = { workspaceId: world.id('acme') }
  const made = await ada.call('POST /api/ideas/boards', {
    body: { ...inWorkspace, name: 'Plans', columns: [{ name: 'Left' }, { name: 'Right' }] },
  })
  expect(made.status, made.text).toBe(201)
  const { _id: boardId, columns } = made.body.data as { _id: string; columns: { _id: string }[] }
  const titles = Array.from({ length: 6 }, (_, n) => `card ${n}`)
  for (const [n, title] of titles.entries()) {
    const body = { ...inWorkspace, boardId, title, column: columns[n % 2]?._id }
    const idea = await ada.call('POST /api/ideas', { body })
    expect(idea.status, idea.text).toBe(201)
  }
  const stored = async () => {
    const lists = await Promise.all(
      columns.map(({ _id: column }) => ada.call('GET /api/ideas', { query: { ...inWorkspace, boardId, column } })),
    )
    return lists.flatMap(({ body }) => body.data as Card[])
  }
  const cards = await stored()
  const open: Page[] = []
  for (const name of ['bob', 'eve', 'zoe']) {
    const { apiKey } = await world.member('acme', name, { scopes: ['ideas:read', 'ideas:write'] })
    const page = await (await browser.newContext()).newPage()
    await page.goto(pages.origin)
    await page.waitForFunction(() => 'showBoard' in globalThis)
    const options = { boardId, cards, columns: columns.map(({ _id }) => _id), token: apiKey, url: app.url }
    await page.evaluate((given) => (globalThis as unknown as BoardWindow).showBoard(given), options)
    await waitFor(() => page.evaluate(() => (globalThis as unknown as BoardWindow).board.isConnected()))
    open.push(page)
  }
  await Promise.all(
    open.map(async (page, index) => {
      for (let round = 0; round < 4; round += 1) {
        await drag(page, titles[(round + index) % 6] ?? '', titles[(round * 2 + index + 3) % 6] ?? '')
      }
    }),
  )
  for (const page of open) {
    await waitFor(() => page.evaluate(() => (globalThis as unknown as BoardWindow).board.isDone()))
  }
  const replies = (await Promise.all(open.map(board))).flat()
  expect(replies.filter((reply) => reply !== 200 && reply !== 'idea_neighbor_moved')).toEqual([])
  expect(replies.filter((reply) => reply === 200).length).toBeGreaterThan(3)
  const order = (await stored()).map(({ title }) => title)
  expect(order.toSorted()).toEqual(titles)
  expect(order).not.toEqual(cards.map(({ title }) => title))
  for (const page of open) await waitFor(async () => (await shown(page)).join() === order.join(), { what: 'the board' })
})
