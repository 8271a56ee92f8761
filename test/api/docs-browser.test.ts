import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../src/api.ts'
import { errorTable } from '../../src/core/error.ts'
import { walk } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { toolPath } from '../support/tools.ts'

let app: App
let browser: Browser
beforeAll(async () => {
  app = await startApp()
  const { command, env } = toolPath('chromium')
  browser = await chromium.launch({
    executablePath: command,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  })
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

/** Opens a page and notes whatever it asks for and complains about. */
async function open(path: string): Promise<{ page: Page; requested: string[]; complaints: string[] }> {
  const page = await browser.newPage()
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => void requested.push(request.url()))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  await page.goto(app.url + path)
  return { page, requested, complaints }
}

function foreign(urls: readonly string[]): string[] {
  return urls.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== app.url)
}

test('/docs renders every domain and operation and loads nothing from elsewhere', { timeout: 120_000 }, async () => {
  const { page, requested, complaints } = await open('/docs')
  await page.getByRole('heading', { name: 'Crier', exact: true }).waitFor()
  const operations = walk(api)
  for (const domain of new Set(operations.map((op) => op.domain))) {
    const closed = page.getByRole('button', { name: `Open Group - ${domain}`, exact: true })
    const opened = page.getByRole('button', { name: `Close Group - ${domain}`, exact: true })
    await closed.or(opened).first().waitFor()
    if (await closed.isVisible()) await closed.click()
    await opened.waitFor()
    for (const op of operations.filter((one) => one.domain === domain)) {
      await page.getByText(op.summary, { exact: true }).first().waitFor({ state: 'attached' })
    }
  }
  expect(requested).toContain(`${app.url}/api/openapi.json`)
  expect(foreign(requested)).toEqual([])
  expect(complaints).toEqual([])
  await page.close()
})

test('a request can be sent from the page, and its answer is shown', { timeout: 120_000 }, async () => {
  const { page, requested, complaints } = await open('/docs#tag/health/GET/api/health')
  const section = page.getByRole('region', { name: 'Say that the process is alive' })
  await section
    .getByRole('button', { name: /test request/i })
    .first()
    .click()
  const answered = page.waitForResponse((response) => response.url() === `${app.url}/api/health`)
  await page.getByRole('button', { name: /^send/i }).first().click()
  expect((await answered).status()).toBe(200)
  await page.getByText('uptimeSeconds').last().waitFor()
  await page.getByText('200 OK').first().waitFor()
  expect(foreign(requested)).toEqual([])
  expect(complaints).toEqual([])
  await page.close()
})

test('/docs/errors has an anchor for every code, where error bodies lead', async () => {
  const refused = await app.send('GET /api/nothing-here')
  const docUrl = new URL(refused.body.docUrl as string)
  const { page, requested, complaints } = await open(docUrl.pathname + docUrl.hash)
  for (const error of errorTable()) {
    const section = page.locator(`section[id="${error.code}"]`)
    expect(await section.innerText()).toContain(error.code)
  }
  expect(await page.locator('section:target').innerText()).toContain('route_not_found')
  expect(foreign(requested)).toEqual([])
  expect(complaints).toEqual([])
  await page.close()
})
