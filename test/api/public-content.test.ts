import { createHash } from 'node:crypto'
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseFeed } from 'feedsmith'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** Apps, blog and books: what the public sees of what administrators write, on two nodes. */

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'))
const at = (hours: number) => new Date(clock.now() + hours * HOUR).toISOString()
let redis: TestRedis
let folder: string
let app: App
let other: App
let world: World

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-blog-'))
  redis = await startRedis()
  const options = {
    clock,
    redisUrl: redis.url,
    env: { BLOG_DIR: folder, BLOG_TITLE: 'News & notes' },
  }
  app = await startApp(options)
  other = await startApp({ ...options, databaseUrl: app.databaseUrl })
  world = new World(app)
  await world.user('admin', { admin: true })
})
afterAll(async () => {
  await other?.stop()
  await app?.stop()
  await redis?.stop()
  await rm(folder, { recursive: true, force: true })
})

const admin = () => world.as('admin')
async function write(fields: object) {
  const reply = await admin().call('POST /api/blog/entries', { body: { title: 'A post', body: 'Text', ...fields } })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}
const slugs = async (query: object = {}, node = app) =>
  (await node.send('GET /api/blog/posts', { query: { limit: 100, ...query } })).body.data.map(
    (post: { slug: string }) => post.slug,
  )

describe('the blog', () => {
  test('shows HTML without scripts, handlers, frames and styles', async () => {
    const body = [
      '# Title <script>alert(1)</script>',
      '<img src=x onerror=alert(1)> <iframe src="https://evil.example"></iframe> <style>body{display:none}</style>',
      '[a](javascript:alert(1)) [b](/docs) ![p](https://example.com/p.png "t") <form action="https://evil.example"><input></form>',
      '```js\nlet a = 1 < 2\n```',
    ].join('\n\n')
    const { slug } = await write({
      title: 'Ünsafe: HTML',
      body,
      publishedAt: at(-1),
      imageUrl: 'https://example.com/a.png',
    })
    expect(slug).toBe('unsafe-html')
    const { html, openGraph, summary, url } = (await app.send('GET /api/blog/posts/{slug}', { path: { slug } })).body
      .data
    expect(html).not.toMatch(/script|onerror|iframe|<style|form|evil/)
    expect(html).toContain('<a rel="noopener">a</a>')
    expect(html).toContain(`<a href="${new URL('/docs', url).href}" rel="noopener">b</a>`)
    expect(html).toContain('<code class="language-js">let a = 1 &lt; 2')
    expect(summary).toMatch(/^Title /)
    expect(openGraph).toMatchObject({
      'og:title': 'Ünsafe: HTML',
      'og:url': url,
      'og:image': 'https://example.com/a.png',
    })
    const page = await app.send('GET /api/blog/posts/{slug}/page', { path: { slug } })
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.text).toContain('<meta property="og:site_name" content="News &amp; notes">')
  })

  test('hides drafts and posts of the future, and shows them on all nodes from their time on', async () => {
    const draft = await write({ title: 'Only a draft' })
    const later = await write({ title: 'Later', publishedAt: at(2) })
    expect([draft.status, later.status]).toEqual(['draft', 'scheduled'])
    for (const node of [app, other]) {
      expect(await slugs({}, node)).not.toEqual(expect.arrayContaining([draft.slug]))
      for (const slug of [draft.slug, later.slug]) {
        for (const path of ['', '/page']) {
          const reply = await node.send(`GET /api/blog/posts/{slug}${path}`, { path: { slug } })
          expect(reply.status, slug + path).toBe(404)
        }
      }
      for (const feed of ['feed.rss', 'feed.atom', 'feed.json', 'sitemap.xml']) {
        const { text } = await node.send(`GET /api/blog/${feed}`)
        expect(text, feed).not.toMatch(/only-a-draft|later/)
      }
    }
    clock.advance(2 * HOUR)
    for (const node of [app, other]) expect(await slugs({}, node)).toContain('later')
  })

  test('lists pages, categories with counts, and posts of a category, newest first', async () => {
    for (const hour of [1, 2, 3]) {
      await write({ title: `Guide ${hour}`, categoryNames: ['Guides', 'Ö & Ü'], publishedAt: at(-hour) })
    }
    await write({ title: 'Hidden guide', categoryNames: ['Guides'], publishedAt: at(500) })
    const { data } = (await app.send('GET /api/blog/categories')).body
    expect(data).toEqual(
      expect.arrayContaining([
        { slug: 'guides', name: 'Guides', postsCount: 3 },
        { slug: 'o-u', name: 'Ö & Ü', postsCount: 3 },
      ]),
    )
    expect(await slugs({ category: 'guides' })).toEqual(['guide-1', 'guide-2', 'guide-3'])
    const second = await app.send('GET /api/blog/posts', { query: { category: 'guides', limit: 2, page: 2 } })
    expect(second.body.data.map((post: { slug: string }) => post.slug)).toEqual(['guide-3'])
    expect(second.body.pagination).toEqual({ limit: 2, hasMore: false, nextCursor: null, page: 2, pages: 2, total: 3 })
    expect((await app.send('GET /api/blog/posts', { query: { limit: 101 } })).status).toBe(400)
    expect(await slugs({ category: 'nothing' })).toEqual([])
  })

  test('feeds are read by a feed reader, and name the same posts', async () => {
    await write({ title: 'Tom & "Jerry" <3', body: 'Fish & chips]]>', publishedAt: at(0) })
    const newest = async (format: string) => {
      const { headers, text } = await app.send(`GET /api/blog/feed.${format}`)
      return { type: headers.get('content-type'), parsed: parseFeed(text) }
    }
    const rss = await newest('rss')
    const atom = await newest('atom')
    const json = await newest('json')
    expect([rss.parsed.format, atom.parsed.format, json.parsed.format]).toEqual(['rss', 'atom', 'json'])
    const titles = [rss, json].map(({ parsed }) => (parsed.feed as { items?: { title?: string }[] }).items?.[0]?.title)
    expect(titles).toEqual(['Tom & "Jerry" <3', 'Tom & "Jerry" <3'])
    expect([rss.type, atom.type, json.type]).toEqual([
      'application/rss+xml; charset=utf-8',
      'application/atom+xml; charset=utf-8',
      'application/feed+json',
    ])
  })

  test('can be kept by a proxy: ETag, 304, Cache-Control; another tag after a change, on all nodes', async () => {
    const entry = await write({ title: 'Cached', publishedAt: at(-1) })
    const get = (node: App, tag = '') =>
      node.send('GET /api/blog/posts/{slug}', {
        path: { slug: 'cached' },
        ...(tag && { headers: { 'If-None-Match': tag } }),
      })
    const first = await get(other)
    const tag = first.headers.get('etag') ?? ''
    expect(first.headers.get('cache-control')).toBe('public, max-age=60, stale-while-revalidate=60')
    expect((await get(other, `W/${tag}`)).status).toBe(304)
    const own = (await get(app)).headers.get('etag') ?? ''
    expect((await get(app, own)).status).toBe(304)
    const path = { id: entry._id }
    const changed = await admin().call('PATCH /api/blog/entries/{id}', {
      path,
      body: { title: 'Changed' },
      headers: { 'If-Match': `"${entry.version}"` },
    })
    expect(changed.status, changed.text).toBe(200)
    expect((await get(app, own)).body.data.title).toBe('Changed')
    await waitFor(async () => (await get(other, tag)).status === 200)
    const stale = { path, headers: { 'If-Match': `"${entry.version}"` } }
    expect((await admin().call('PATCH /api/blog/entries/{id}', { ...stale, body: { title: 'x' } })).status).toBe(412)
    expect((await admin().call('DELETE /api/blog/entries/{id}', stale)).status).toBe(412)
    expect((await admin().call('DELETE /api/blog/entries/{id}', { path })).status).toBe(200)
    expect((await get(app)).status).toBe(404)
    expect((await admin().call('DELETE /api/blog/entries/{id}', { path })).status).toBe(404)
  })

  test('the same request gets the same bytes and headers, but no longer when something is not as before', async () => {
    const { slug } = await write({ title: 'Asked for twice', publishedAt: at(-1) })
    for (const [route, path, query] of [
      ['GET /api/blog/posts', undefined, { limit: 20 }],
      ['GET /api/blog/posts/{slug}', { slug }, undefined],
      ['GET /api/blog/posts/{slug}/page', { slug }, undefined],
    ] as const) {
      const ask = (headers = {}) => app.send(route, { ...(path && { path }), ...(query && { query }), headers })
      const [first, second, third] = [await ask(), await ask(), await ask({ 'X-Request-Id': 'mine' })]
      const shown = ({ headers, status, text }: typeof first) => {
        const same = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
        return { status, text, headers: Object.fromEntries(same) }
      }
      expect(shown(second)).toEqual(shown(first))
      expect(shown(third)).toEqual(shown(first))
      expect(third.headers.get('x-request-id')).toBe('mine')
      expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
      expect((await ask({ Authorization: 'Bearer nonsense' })).status).toBe(401)
      expect((await ask({ 'If-None-Match': first.headers.get('etag') ?? '' })).status).toBe(304)
    }
    const unknown = await app.send('GET /api/blog/posts', { query: { limit: 20, nonsense: 1 } })
    expect(unknown.status).toBe(400)
    const { services } = app.composition
    await services.switches.toggle('blog', false)
    expect((await app.send('GET /api/blog/posts', { query: { limit: 20 } })).status).toBe(503)
    await services.switches.toggle('blog', true)
    expect((await app.send('GET /api/blog/posts', { query: { limit: 20 } })).status).toBe(200)
  })

  test('refuses a slug that is taken, and a title without letters for an address', async () => {
    await write({ title: 'Taken' })
    const twice = await admin().call('POST /api/blog/entries', { body: { title: 'Taken', body: 'x' } })
    expect([twice.status, twice.body.code]).toEqual([409, 'conflict'])
    const none = await admin().call('POST /api/blog/entries', { body: { title: '你好', body: 'x' } })
    expect([none.status, none.body.errors[0].path]).toEqual([400, '/body/slug'])
  })

  test('shows Markdown files of a folder, follows their changes, and leaves out broken ones', async () => {
    const post = (title: string, more = '') =>
      `---\ntitle: ${title}\npublishedAt: 2026-01-01T00:00:00Z\n${more}---\n\nFrom a **file**.\n`
    await writeFile(join(folder, '2026-01-01-from-a-file.md'), post('From a file', 'categories: [Files]\n'))
    await writeFile(join(folder, 'draft.md'), '---\ntitle: Draft\n---\nx')
    await writeFile(join(folder, 'broken.md'), '---\ntitle: [\n---\nx')
    await writeFile(join(folder, 'unknown-field.md'), post('Unknown', 'colour: red\n'))
    clock.advance(60_000)
    expect(await slugs({ category: 'files' })).toEqual(['from-a-file'])
    expect(await slugs()).not.toEqual(expect.arrayContaining(['draft']))
    const slug = 'from-a-file'
    const read = async (node: App) => (await node.send('GET /api/blog/posts/{slug}', { path: { slug } })).body.data
    expect(await read(app)).toMatchObject({ title: 'From a file', html: '<p>From a <strong>file</strong>.</p>\n' })
    expect((await read(other))._id).toBe((await read(app))._id)
    expect(
      app.logs.filter(({ file }) => file === 'broken.md' || file === 'unknown-field.md').length,
    ).toBeGreaterThanOrEqual(2)
    const path = join(folder, '2026-01-01-from-a-file.md')
    await writeFile(path, post('Renamed'))
    await utimes(path, new Date(), new Date(Date.now() + 5_000))
    clock.advance(60_000)
    expect((await read(app)).title).toBe('Renamed')
  })
})

describe('apps', () => {
  const file = (text: string) => ({ name: 'crier-setup.bin', content: new TextEncoder().encode(text) })
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const upload = (id: string, body: object, text: string) =>
    admin().call('POST /api/apps/entries/{id}/versions', { path: { id }, body, file: file(text) })
  let id: string

  beforeAll(async () => {
    const made = await admin().call('POST /api/apps/entries', { body: { slug: 'desktop', name: 'Desktop' } })
    id = made.body.data._id
    for (const [version, platform] of [
      ['1.9.0', 'linux'],
      ['1.10.0', 'linux'],
      ['1.10.0', 'windows'],
      ['2.0.0-rc.1', 'linux'],
    ]) {
      const reply = await upload(id, { version, platform }, `${version} for ${platform}`)
      expect(reply.status, reply.text).toBe(201)
    }
  })

  test('shows listed apps with the latest version for each platform', async () => {
    const { latest, latestVersion } = (await other.send('GET /api/apps')).body.data.find(
      (one: { slug: string }) => one.slug === 'desktop',
    )
    expect(latestVersion).toBe('1.10.0')
    expect(latest.map((one: { platform: string; version: string }) => [one.platform, one.version])).toEqual([
      ['windows', '1.10.0'],
      ['linux', '1.10.0'],
    ])
    const { versions } = (await app.send('GET /api/apps/{slug}', { path: { slug: 'desktop' } })).body.data
    expect(versions.map((one: { version: string }) => one.version)).toEqual(['1.10.0', '1.10.0', '1.9.0', '2.0.0-rc.1'])
    expect(versions[1].sha256).toBe(sha256('1.10.0 for linux'))
  })

  test('sends the file with its checksum, whole or a range', async () => {
    const text = '1.10.0 for linux'
    const options = { path: { slug: 'desktop' }, query: { platform: 'linux' } }
    const whole = await app.send('GET /api/apps/{slug}/download', options)
    expect([whole.status, whole.text]).toEqual([200, text])
    const digest = Buffer.from(sha256(text), 'hex').toString('base64')
    expect(whole.headers.get('repr-digest')).toBe(`sha-256=:${digest}:`)
    expect(whole.headers.get('x-checksum-sha256')).toBe(sha256(text))
    expect(whole.headers.get('content-disposition')).toContain('attachment')
    const version = { path: { slug: 'desktop', version: '1.10.0' }, query: { platform: 'linux' } }
    const part = await app.send('GET /api/apps/{slug}/versions/{version}/download', {
      ...version,
      headers: { Range: 'bytes=0-5' },
    })
    expect([part.status, part.text, part.headers.get('content-range')]).toEqual([
      206,
      '1.10.0',
      `bytes 0-5/${text.length}`,
    ])
    expect(part.headers.get('repr-digest')).toBe(`sha-256=:${digest}:`)
    const known = { ...version, headers: { 'If-None-Match': whole.headers.get('etag') ?? '' } }
    expect((await app.send('GET /api/apps/{slug}/versions/{version}/download', known)).status).toBe(304)
    const beyond = { ...version, headers: { Range: 'bytes=900-' } }
    expect((await app.send('GET /api/apps/{slug}/versions/{version}/download', beyond)).status).toBe(416)
  })

  test('asks for the platform if there are several, and knows no others', async () => {
    const unnamed = await app.send('GET /api/apps/{slug}/download', { path: { slug: 'desktop' } })
    expect([unnamed.status, unnamed.body.errors[0].path]).toEqual([400, '/query/platform'])
    const only = await app.send('GET /api/apps/{slug}/versions/{version}/download', {
      path: { slug: 'desktop', version: '1.9.0' },
    })
    expect(only.text).toBe('1.9.0 for linux')
    const missing = await app.send('GET /api/apps/{slug}/download', {
      path: { slug: 'desktop' },
      query: { platform: 'ios' },
    })
    expect(missing.status).toBe(404)
  })

  test('refuses the same version twice, and a file with another checksum', async () => {
    const twice = await upload(id, { version: '1.9.0', platform: 'linux' }, 'again')
    expect([twice.status, twice.body.code]).toEqual([409, 'conflict'])
    const wrong = await upload(id, { version: '3.0.0', platform: 'linux', sha256: sha256('x') }, 'y')
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([400, 'checksum'])
    const right = await upload(
      id,
      { version: '3.0.0', platform: 'linux', sha256: sha256('y'), publishedAt: at(5) },
      'y',
    )
    expect(right.status, right.text).toBe(201)
    const early = await app.send('GET /api/apps/{slug}/versions/{version}/download', {
      path: { slug: 'desktop', version: '3.0.0' },
    })
    expect(early.status).toBe(404)
  })

  test('files outlive the sweep of files without references', async () => {
    clock.advance(48 * HOUR)
    await app.composition.services.assets.housekeeping.sweep()
    const options = { path: { slug: 'desktop', version: '1.9.0' } }
    expect((await app.send('GET /api/apps/{slug}/versions/{version}/download', options)).text).toBe('1.9.0 for linux')
  })

  test('an app that is not listed, a deleted version and a deleted app are gone', async () => {
    const entry = (await admin().call('GET /api/apps/entries/{id}', { path: { id } })).body.data
    const path = { slug: 'desktop' }
    await admin().call('PATCH /api/apps/entries/{id}', { path: { id }, body: { listed: false } })
    expect((await app.send('GET /api/apps/{slug}', { path })).status).toBe(404)
    expect((await app.send('GET /api/apps/{slug}/download', { path, query: { platform: 'linux' } })).status).toBe(404)
    const stale = { path: { id }, headers: { 'If-Match': `"${entry.version}"` } }
    expect((await admin().call('DELETE /api/apps/entries/{id}', stale)).status).toBe(412)
    await admin().call('PATCH /api/apps/entries/{id}', { path: { id }, body: { listed: true } })
    const [{ _id: releaseId, version }] = entry.versions
    const release = { path: { id, releaseId } }
    expect((await admin().call('DELETE /api/apps/entries/{id}/versions/{releaseId}', release)).status).toBe(200)
    expect((await admin().call('DELETE /api/apps/entries/{id}/versions/{releaseId}', release)).status).toBe(404)
    expect(version).toBe('3.0.0')
    expect((await admin().call('DELETE /api/apps/entries/{id}', { path: { id } })).status).toBe(200)
    expect((await app.send('GET /api/apps/{slug}', { path })).status).toBe(404)
  })
})

describe('books', () => {
  const data = { chapters: [{ title: '  One  ', text: 'é' }], n: 1 }
  const add = (fields: object) =>
    admin().call('POST /api/books/entries', { body: { title: 'A book', data, ...fields } })

  test('lists metadata, and downloads the JSON itself', async () => {
    const made = (await add({ publishedAt: at(-1) })).body.data
    const listed = (await other.send('GET /api/books')).body.data.find((book: { _id: string }) => book._id === made._id)
    expect(listed).not.toHaveProperty('data')
    const reply = await other.send('GET /api/books/{id}/data', { path: { id: made._id } })
    expect(reply.text).toBe(JSON.stringify(data))
    expect(createHash('sha256').update(reply.text).digest('hex')).toBe(listed.sha256)
    const headers = { 'If-None-Match': reply.headers.get('etag') ?? '' }
    expect((await other.send('GET /api/books/{id}/data', { path: { id: made._id }, headers })).status).toBe(304)
    const draft = (await add({ title: 'Draft' })).body.data
    expect((await app.send('GET /api/books/{id}/data', { path: { id: draft._id } })).status).toBe(404)
    const change = { path: { id: made._id }, body: { data: [1, 2] }, headers: { 'If-Match': `"${made.version}"` } }
    expect((await admin().call('PATCH /api/books/entries/{id}', change)).body.data.size).toBe(5)
    expect((await app.send('GET /api/books/{id}/data', { path: { id: made._id } })).text).toBe('[1,2]')
    expect((await admin().call('PATCH /api/books/entries/{id}', change)).status).toBe(412)
  })

  test('refuses a book of more than 5 MB', async () => {
    const reply = await add({ data: { text: 'x'.repeat(5_000_001) } })
    expect([reply.status, reply.body.code]).toEqual([413, 'payload_too_large'])
  })
})

test('nobody but administrators writes', async () => {
  await world.user('ada')
  for (const area of ['apps', 'blog', 'books']) {
    expect((await world.as('ada').call(`GET /api/${area}/entries`)).status).toBe(403)
    expect((await app.send(`GET /api/${area}/entries`)).status).toBe(401)
  }
})
