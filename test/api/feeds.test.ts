import { parseFeed as parseFeedForeign } from '@rowanmanning/feed-parser'
import { parseFeed } from 'feedsmith'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { closePages, sharedBrowser } from '../support/browser.ts'
import { World } from '../support/world.ts'

/** The feeds of hostile posts, read by two feed parsers, and their XML by the strict parser of a browser. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))

/** Texts that break XML or become markup if a writer forgets a step, and what readers should see of them. */
const TEXTS: readonly (readonly [name: string, text: string, seen?: string])[] = [
  ['markup', 'Q<A & "B" \'C\' <b>bold</b> <svg/onload=alert(1)>'],
  ['escaped markup', 'Use &lt;svg/onload=alert(1)&gt; and &amp;lt;b&amp;gt;'],
  ['entities', '&nbsp; &unknown; &#0; &#xFFFE; &'],
  ['the end of CDATA', 'a ]]> b <![CDATA[ c ]]>'],
  ['a comment and an instruction', '<!-- a -- b --> <?xml version="1.0"?> <!DOCTYPE x [<!ENTITY a "b">]>'],
  ['control characters', 'a\u0001\u0008\u000B\u000C\u001B\u001Fb\u007F', 'ab'],
  ['noncharacters', 'a\uFFFE\uFFFFb', 'ab'],
  ['characters beyond the plane', '𝔘 👩‍👩‍👧 \u{10FFFD}'],
  ['other scripts and directions', 'שלום مرحبا 日本語 \u202Ertl'],
  ['a long word', 'x'.repeat(190)],
]

let app: App
let browser: Browser
let page: Page

beforeAll(async () => {
  app = await startApp({ clock, env: { BLOG_TITLE: 'News & <notes>' } })
  const world = new World(app)
  await world.user('admin', { admin: true })
  for (const [index, [, text]] of TEXTS.entries()) {
    const reply = await world.as('admin').call('POST /api/blog/entries', {
      body: {
        slug: `post-${index}`,
        title: text,
        body: `Text: ${text}`,
        summary: text,
        author: text.slice(0, 80),
        categoryNames: [`Q${text.slice(0, 30)}`],
        imageUrl: 'https://example.com/a.png?b=1&c=2',
        publishedAt: new Date(clock.now() - (index + 1) * HOUR).toISOString(),
      },
    })
    expect(reply.status, reply.text).toBe(201)
  }
  browser = await sharedBrowser()
  page = await browser.newPage()
})
afterAll(async () => {
  await closePages(browser)
  await app?.stop()
})

/** Runs a function, given as text because it uses what only a browser has. */
function inBrowser<T>(code: string, argument: unknown): Promise<T> {
  return page.evaluate<T>(`(${code})(${JSON.stringify(argument)})`)
}

const read = async (path: string) => (await app.send(`GET /api/blog/${path}`)).text

const seen = TEXTS.map(([, text, shown]) => (shown ?? text).replaceAll(/\s+/g, ' ').trim())
const plain = (text: string | null | undefined) => (text ?? '').replaceAll(/\s+/g, ' ').trim()

test.each(['feed.rss', 'feed.atom', 'sitemap.xml'])('%s is well-formed XML', async (path) => {
  const fault = await inBrowser<string | null>(
    `(xml) => new DOMParser().parseFromString(xml, 'application/xml').querySelector('parsererror')?.textContent ?? null`,
    await read(path),
  )
  expect(fault).toBeNull()
})

/** What a browser reads from the elements of each post. */
async function elements(path: string, item: string, name: string): Promise<string[]> {
  return inBrowser<string[]>(
    `([xml, item, name]) =>
      [...new DOMParser().parseFromString(xml, 'application/xml').getElementsByTagName(item)].map(
        (one) => one.getElementsByTagName(name)[0]?.textContent ?? 'missing',
      )`,
    [await read(path), item, name],
  )
}

test.each([
  ['feed.rss', 'item'],
  ['feed.atom', 'entry'],
])('titles in %s are the texts as they were written', async (path, item) => {
  expect((await elements(path, item, 'title')).map(plain)).toEqual(seen)
})

test('a summary in Atom is text, and a description in RSS is HTML that shows the same', async () => {
  expect((await elements('feed.atom', 'entry', 'summary')).map(plain)).toEqual(seen)
  const descriptions = await elements('feed.rss', 'item', 'description')
  const shown = await inBrowser<{ text: string; elements: number }[]>(
    `(all) =>
      all.map((html) => {
        const { body } = new DOMParser().parseFromString(html, 'text/html')
        return { text: body.textContent ?? '', elements: body.querySelectorAll('*').length }
      })`,
    descriptions,
  )
  expect(shown.map(({ text }) => plain(text))).toEqual(seen)
  expect(shown.map(({ elements: count }) => count)).toEqual(TEXTS.map(() => 0))
})

test('a feed parser reads every post of each format', async () => {
  for (const format of ['rss', 'atom', 'json']) {
    const { feed, format: found } = parseFeed(await read(`feed.${format}`))
    expect(found).toBe(format)
    const { entries, items } = feed as { items?: { title?: unknown }[]; entries?: { title?: unknown }[] }
    expect((items ?? entries ?? []).length).toBe(TEXTS.length)
  }
})

test('another feed parser reads titles, links, authors, categories and pictures', async () => {
  for (const format of ['rss', 'atom']) {
    const { items, title } = parseFeedForeign(await read(`feed.${format}`))
    expect(title).toBe('News & <notes>')
    expect(items).toHaveLength(TEXTS.length)
    for (const [index, { authors, categories, media, published, url }] of items.entries()) {
      const [name] = TEXTS[index] ?? []
      expect(url, name).toMatch(new RegExp(`/post-${index}(/page)?$`))
      expect(published?.getTime(), name).toBe(clock.now() - (index + 1) * HOUR)
      expect(authors, name).toHaveLength(1)
      expect(categories, name).toHaveLength(1)
      expect(media[0]?.url, name).toBe('https://example.com/a.png?b=1&c=2')
    }
  }
})

test('JSON has the same texts', async () => {
  const { items } = JSON.parse(await read('feed.json')) as { items: { title: string; summary: string }[] }
  expect(items.map(({ title }) => plain(title))).toEqual(seen)
  expect(items.map(({ summary }) => plain(summary))).toEqual(seen)
})
