import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { errorTable } from '../../src/core/error.ts'
import { walk } from '../../src/core/operation.ts'
import { recordedExamples } from '../../src/pages/recorded-examples.ts'
import { startApp, type App } from '../support/app.ts'
import { closePages, foreignRequests, openPage, type OpenPage, sharedBrowser } from '../support/browser.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let browser: Browser
/** One page for the tests of /docs, in their order, because it is large and takes seconds to load. */
let docs: OpenPage
beforeAll(async () => {
  app = await startApp()
  browser = await sharedBrowser()
  docs = await openPage(browser, `${app.url}/docs#tag/health/GET/api/health`)
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
})

const foreign = (urls: readonly string[]) => foreignRequests(urls, app.url)

/** The texts of all small elements, read at once: to search the page for each text is slow. */
const TEXTS = `[...document.querySelectorAll('span, div, a, p, h3')]
  .flatMap((one) => (one.childElementCount < 4 ? [one.textContent.slice(0, 300).replace(/\\s+/g, ' ').trim()] : []))`

/** Opens all groups of the menu at once, because the page renders a second for each click. @returns those that are open */
const OPEN_GROUPS = `(() => {
  const buttons = [...document.querySelectorAll('button')].map((button) => ({ button, text: button.textContent.trim() }))
  for (const { button, text } of buttons) if (text.startsWith('Open Group - ')) button.click()
  return buttons.flatMap(({ text }) => text.split('Close Group - ').slice(1))
})()`

test('an operation shows its recorded reply', async () => {
  const section = docs.page.getByRole('region', { name: 'Get liveness' })
  await section.getByText('uptimeSeconds').first().waitFor()
  const { reply } = recordedExamples().get('getHealth') ?? {}
  const { uptimeSeconds } = (reply as { data: { uptimeSeconds: number } }).data
  await section.getByText(String(uptimeSeconds)).first().waitFor()
})

test('the page sends a request and shows the reply', async () => {
  const { page } = docs
  const section = page.getByRole('region', { name: 'Get liveness' })
  await section
    .getByRole('button', { name: /test request/i })
    .first()
    .click()
  const answered = page.waitForResponse((response) => response.url() === `${app.url}/api/health`)
  await page.getByRole('button', { name: /^send/i }).first().click()
  expect((await answered).status()).toBe(200)
  await page.getByText('uptimeSeconds').last().waitFor()
  await page.getByText('200 OK').first().waitFor()
  await page.keyboard.press('Escape')
})

test('the search of /docs finds operations by common words', async () => {
  const { page } = docs
  await page
    .getByRole('button', { name: /search/i })
    .first()
    .click()
  const field = page.getByRole('dialog').locator('input')
  for (const [words, summary] of [
    ['upload a file', 'Upload a file'],
    ['download', 'Download a file'],
  ] as const) {
    await field.fill(words)
    await page.getByRole('dialog').getByText(summary).first().waitFor()
  }
  await page.keyboard.press('Escape')
})

test('/docs renders every domain and operation, and loads no external resources', async () => {
  const { page, requested, complaints } = docs
  await page.getByRole('heading', { name: 'Crier', exact: true }).waitFor()
  const operations = walk(api)
  const domains = new Set(operations.map((op) => op.domain))
  await waitFor(async () => domains.isSubsetOf(new Set(await page.evaluate<string[]>(OPEN_GROUPS))), {
    what: 'every domain to be open',
  })
  const summaries = new Set(operations.map(({ summary }) => summary))
  const showsAll = async () => summaries.isSubsetOf(new Set(await page.evaluate<string[]>(TEXTS)))
  await waitFor(showsAll, { what: 'every operation' })
  expect(requested).toContain(`${app.url}/api/openapi.json`)
  expect(foreign(requested)).toEqual([])
  expect(complaints).toEqual([])
})

test('/docs/errors has an anchor for every code, and error bodies link to it', async () => {
  const refused = await app.send('GET /api/nothing-here')
  const docUrl = new URL(refused.body.docUrl as string)
  const { page, requested, complaints } = await openPage(browser, app.url + docUrl.pathname + docUrl.hash)
  for (const error of errorTable()) {
    const section = page.locator(`section[id="${error.code}"]`)
    expect(await section.innerText()).toContain(error.code)
  }
  expect(await page.locator('section:target').innerText()).toContain('route_not_found')
  expect(foreign(requested)).toEqual([])
  expect(complaints).toEqual([])
  await page.close()
})
