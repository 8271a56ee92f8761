import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { toolPath } from './tools.ts'

/** Starts a real headless chromium, which the caller must close. @param flags in addition to the usual ones */
export function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  const { command, env } = toolPath('chromium')
  return chromium.launch({
    executablePath: command,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', ...flags],
  })
}

let shared: Promise<Browser> | undefined

/** The chromium that the files of a test process use one after the other. End with `closePages`. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser()
  return shared
}

/** Closes what a file opened in the shared browser, which ends with its process. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()))
}

export interface OpenPage {
  readonly page: Page
  /** Every URL that the page requested. */
  readonly requested: readonly string[]
  /** Errors on its console, and uncaught errors. */
  readonly complaints: readonly string[]
}

/** Opens a page in a new context and records its requests and errors. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const page = await browser.newPage(options)
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => void requested.push(request.url()))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  await page.goto(url)
  return { page, requested, complaints }
}

/** The URLs whose host is not that of `origin`. */
export function foreignRequests(urls: readonly string[], origin: string): string[] {
  return urls.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== origin)
}
