import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { GuardedLinkPages } from './link-pages.ts'
import { pageMeta } from './page-meta.ts'

let server: Server
let base: string
const requests: string[] = []
const routes = new Map<string, RequestListener>()
const html = (path: string, body: string | Buffer, type = 'text/html; charset=utf-8', status = 200) =>
  routes.set(path, (_request, response) => response.writeHead(status, { 'Content-Type': type }).end(body))

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.url ?? '')
    const route = routes.get(request.url ?? '')
    if (route === undefined) response.writeHead(404).end()
    else route(request, response)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const shrink = (bytes: Buffer) => Promise.resolve({ bytes, type: 'image/jpeg' } as const)
const pages = new GuardedLinkPages(GuardedFetcher.of(true), shrink, { fetchMs: 300, waitMs: 300 })
const plain = () => ({ title: new URL(base).host, description: '' })

test('a page says its title, text and picture, also after a redirect', async () => {
  html(
    '/articles/1',
    `<!doctype html><title>Plain</title><svg><title>Icon</title></svg>
    <meta property="og:title" content="Bread &amp; \u0000 b&#252;tter">
    <meta name=og:description content=' About
      "it" '><meta property="og:image" content="../pictures/1.jpg">
    <meta property="og:image" content="https://example.com/second.jpg"></head>
    <body><meta property="og:title" content="A reader’s"></body>`,
  )
  routes.set('/short', (_request, response) => response.writeHead(301, { Location: '/articles/1' }).end())
  const card = {
    title: 'Bread & bütter',
    description: 'About "it"',
    imageUrl: `${base}/pictures/1.jpg`,
  }
  expect(await pages.card(`${base}/articles/1`)).toEqual(card)
  expect(await pages.card(`${base}/short`)).toEqual(card)
})

test.each([
  [
    'a plain title and description',
    '<title>One\n line</title><meta name="description" content="Two">',
    'One line',
    'Two',
  ],
  ['those for X', '<meta name="twitter:title" content="X"><title>Plain</title>', 'X', undefined],
  ['the first title', '<title>One</title><svg><title>Icon</title></svg>', 'One', undefined],
  ['nothing in the body', '<body><title>Icon</title><meta property="og:title" content="No">', undefined, undefined],
  ['no empty value', '<meta property="og:title" content=" "><title>Full</title>', 'Full', undefined],
])('a page can have %s', async (_what, head, title, description) => {
  const found = await pageMeta({ url: 'https://a.example/', contentType: 'text/html', bytes: Buffer.from(head) })
  expect(found.title).toBe(title)
  expect(found.description).toBe(description)
})

test('a page has its own encoding, and long texts are cut between characters', async () => {
  const latin = Buffer.from('<meta charset="iso-8859-1"><title>Gr\u00FC\u00DFe</title>', 'latin1')
  expect(await pageMeta({ url: base, contentType: 'text/html', bytes: latin })).toEqual({ title: 'Grüße' })
  const odd = { url: base, contentType: 'text/html; charset=nonsense', bytes: Buffer.from('<title>ü</title>') }
  expect(await pageMeta(odd)).toEqual({ title: 'ü' })
  const long = `<title>${'👋'.repeat(400)}</title>`
  const { title = '' } = await pageMeta({ ...odd, bytes: Buffer.from(long) })
  expect(title).toBe(`${'👋'.repeat(299)}…`)
})

test.each(['data:image/png;base64,AAAA', 'ftp://a.example/x', 'javascript:alert(1)', 'http://['])(
  '%s is no picture',
  async (url) => {
    const bytes = Buffer.from(`<meta property="og:image" content="${url}">`)
    expect(await pageMeta({ url: 'https://a.example/', contentType: 'text/html', bytes })).toEqual({})
  },
)

test('a page that cannot be read has its host as title', async () => {
  html('/error', '<title>Broken</title>', 'text/html', 500)
  html('/file', '<title>No page</title>', 'application/octet-stream')
  routes.set('/hangs', () => {})
  routes.set('/loop', (_request, response) => response.writeHead(302, { Location: '/loop' }).end())
  for (const path of ['/error', '/file', '/none', '/hangs', '/loop']) {
    expect(await pages.card(base + path), path).toEqual(plain())
  }
  expect(await pages.card('https://host.invalid/x')).toEqual({ title: 'host.invalid', description: '' })
})

test('of a page without an end, only the beginning is read', async () => {
  let sent = 0
  routes.set('/endless', (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' })
    response.write('<title>Endless</title>')
    const more = () => {
      while (!response.destroyed && response.write('<p>'.repeat(10_000))) sent += 30_000
    }
    response.on('drain', more)
    more()
  })
  expect(await pages.card(`${base}/endless`)).toMatchObject({ title: 'Endless' })
  expect(sent).toBeLessThan(20_000_000)
})

test('a picture is one by its type and of bounded size', async () => {
  const picture = (path: string, bytes: number, type = 'image/png') => html(path, Buffer.alloc(bytes, 7), type)
  picture('/small.png', 10)
  picture('/large.png', 5_000_001)
  picture('/page.html', 10, 'text/html')
  picture('/drawing.svg', 10, 'image/svg+xml')
  expect(await pages.picture(`${base}/small.png`, 100)).toMatchObject({ type: 'image/jpeg' })
  for (const path of ['/large.png', '/page.html', '/drawing.svg', '/none.png']) {
    expect(await pages.picture(base + path, 100), path).toBeUndefined()
  }
  const broken = new GuardedLinkPages(GuardedFetcher.of(true), () => Promise.reject(new Error('broken')))
  expect(await broken.picture(`${base}/small.png`, 100)).toBeUndefined()
})

test('addresses within this network are not read', async () => {
  const guarded = new GuardedLinkPages(new GuardedFetcher(), shrink)
  const before = requests.length
  expect(await guarded.card(`${base}/articles/1`)).toEqual(plain())
  expect(await guarded.picture(`${base}/small.png`, 100)).toBeUndefined()
  expect(requests).toHaveLength(before)
})

test('a server that shuts down does not look like a page that cannot be read', async () => {
  const stop = new AbortController()
  routes.set('/stops', () => stop.abort(new Error('shutdown')))
  await expect(pages.card(`${base}/stops`, stop.signal)).rejects.toThrow('shutdown')
})

test('who waits too long for others goes without, and leaves no place taken', async () => {
  const waiting: (() => void)[] = []
  const stuck = () => new Promise<never>((_resolve, reject) => waiting.push(() => reject(new Error('over'))))
  const busy = new GuardedLinkPages({ get: stuck }, shrink, { fetchMs: 300, waitMs: 1 })
  const first = Array.from({ length: 16 }, () => busy.card('https://a.example/'))
  const late = await busy.card('https://late.example/')
  expect(late).toEqual({ title: 'late.example', description: '' })
  expect(waiting).toHaveLength(16)
  for (const end of waiting.splice(0)) end()
  await Promise.all(first)
  const again = Array.from({ length: 16 }, () => busy.card('https://a.example/'))
  await new Promise(setImmediate)
  expect(waiting, 'all places are free again').toHaveLength(16)
  for (const end of waiting.splice(0)) end()
  await Promise.all(again)
})
