import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import type { BulkResultData } from '../../src/domains/publishing/writing/bulk/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { PIXEL } from '../support/pixel.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import type { Reply } from '../support/send.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
let files: Server
let base: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))
/** How often each path was asked for. */
const asked = new Map<string, number>()

beforeAll(async () => {
  files = createServer((request, response) => {
    const { url = '' } = request
    asked.set(url, (asked.get(url) ?? 0) + 1)
    if (url.startsWith('/photo')) response.setHeader('Content-Type', 'image/png').end(PIXEL)
    else if (url === '/moved') response.writeHead(302, { Location: '/photo%20of%20us.jpg' }).end()
    else if (url === '/loop') response.writeHead(302, { Location: '/loop' }).end()
    else if (url === '/half') {
      response.writeHead(200, { 'Content-Length': '5000' })
      response.write(PIXEL, () => response.destroy())
    } else response.writeHead(404).end('not here')
  })
  await new Promise<void>((resolve) => void files.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(files.address() as AddressInfo).port}`
  app = await startApp({ clock, env: { RATE_LIMITS: 'off', ALLOW_PRIVATE_ADDRESSES: '1' } })
  owner = await seedUser(app, 'owner', { plan: 'business' })
  workspaceId = await seedWorkspace(app, 'URLs', owner)
  const connected = await send('POST /api/social-accounts', { workspaceId, platform: 'mastodon', sandbox: true })
  accountId = connected.body.data._id
})
afterAll(async () => {
  await app.stop()
  files.close()
})

function send(route: string, body?: object, path: Record<string, string> = {}, user = owner): Promise<Reply> {
  return app.send(route, { apiKey: user.apiKey, path, ...(body && { body }) })
}

const importing = (url: string, extra: object = {}) =>
  send('POST /api/assets/import-url', { workspaceId, url, ...extra })

async function assetCount(): Promise<number> {
  const reply = await app.send('GET /api/assets', { apiKey: owner.apiKey, query: { workspaceId } })
  return (reply.body.data as unknown[]).length
}

describe('a file of a URL', () => {
  test('is added to the library, over a redirect and with a name that fits its content', async () => {
    const reply = await importing(`${base}/moved`, { altText: 'A pixel' })
    expect([reply.status, reply.body.data], reply.text).toMatchObject([
      201,
      { name: 'photo of us', type: 'image/png', altText: 'A pixel', size: PIXEL.length },
    ])
  })

  test.each([
    ['/missing', 'url_unreachable', 'The server of the URL answered 404.'],
    ['/loop', 'url_refused', 'The URL redirects more than 5 times.'],
    ['/half', 'url_unreachable', 'The file cannot be fetched'],
  ])('that cannot be had (%s) is refused and leaves nothing', async (path, code, message) => {
    const before = await assetCount()
    const reply = await importing(base + path)
    expect([reply.status, reply.body.code, reply.body.message]).toEqual([400, code, expect.stringContaining(message)])
    expect(await assetCount()).toBe(before)
  })

  test('is not fetched from a private address unless the server allows it', async () => {
    const closed = await startApp({ clock })
    const user = await seedUser(closed, 'owner')
    const id = await seedWorkspace(closed, 'Closed', user)
    const body = { workspaceId: id, url: `${base}/photo-private.png` }
    const reply = await closed.send('POST /api/assets/import-url', { apiKey: user.apiKey, body })
    expect([reply.status, reply.body.code]).toEqual([400, 'url_refused'])
    expect(asked.get('/photo-private.png')).toBeUndefined()
    await closed.stop()
  })
})

describe('a post names files by URL', () => {
  test('in JSON, also in its thread and for one account, and each file is fetched once', async () => {
    const url = `${base}/photo1.png`
    const reply = await send('POST /api/posts', {
      workspaceId,
      content: 'Look',
      media: [{ url, altText: 'A pixel' }],
      thread: [{ content: 'Again', media: [{ url }] }],
      targets: [{ accountId, override: { media: [{ url }] } }],
    })
    expect(reply.status, reply.text).toBe(201)
    const { media, targets, thread } = reply.body.data as PostData
    expect(media).toMatchObject([{ altText: 'A pixel' }])
    const assetId = media[0]?.assetId
    expect(thread[0]?.media[0]?.assetId).toBe(assetId)
    expect(targets[0]?.override?.media?.[0]?.assetId).toBe(assetId)
    expect(asked.get('/photo1.png')).toBe(1)
  })

  test('when it is changed', async () => {
    const { _id: id } = (await send('POST /api/posts', { workspaceId, content: 'Look' })).body.data as PostData
    const reply = await send('PATCH /api/posts/{id}', { media: [{ url: `${base}/photo2.png` }] }, { id })
    expect(reply.status, reply.text).toBe(200)
    expect((reply.body.data as PostData).media).toHaveLength(1)
  })

  test('and is refused with the reason if one cannot be had, or where nothing is fetched', async () => {
    const missing = await send('POST /api/posts', { workspaceId, content: 'x', media: [{ url: `${base}/missing` }] })
    expect([missing.status, missing.body.message]).toEqual([400, expect.stringContaining('answered 404')])
    const checked = await send('POST /api/posts/validate', { workspaceId, content: 'x', media: [{ url: base }] })
    expect([checked.status, checked.body.message]).toEqual([
      400,
      expect.stringContaining('POST /api/assets/import-url'),
    ])
    const both = await send('POST /api/posts', {
      workspaceId,
      content: 'x',
      media: [{ url: base, assetId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea1' }],
    })
    expect([both.status, both.body.message]).toEqual([400, expect.stringContaining('cannot be combined with assetId')])
  })

  test('only with the scope to add media', async () => {
    const writer = await seedUser(app, 'writer')
    await seedMember(app, workspaceId, writer, { scopes: ['posts:read', 'posts:write'] })
    const body = { workspaceId, content: 'x', media: [{ url: `${base}/photo-forbidden.png` }] }
    const reply = await send('POST /api/posts', body, {}, writer)
    expect([reply.status, reply.body.message]).toEqual([403, expect.stringContaining('media:write')])
    expect(asked.get('/photo-forbidden.png')).toBeUndefined()
  })
})

describe('a file of posts', () => {
  const csv = () =>
    [
      'content,media,accounts',
      `One,"${base}/photo3.png, ${base}/photo4.png",${accountId}`,
      `Two,${base}/missing,`,
    ].join('\n')
  const bulk = (body: object) => send('POST /api/posts/bulk', { workspaceId, ...body })

  test('names files by URL, and a dry run adds none', async () => {
    const before = await assetCount()
    const dry = await bulk({ csv: csv(), dryRun: true })
    expect(dry.status, dry.text).toBe(200)
    const rows = (dry.body.data as BulkResultData).rows.map(({ errors, row, status }) => [
      row,
      status,
      errors[0]?.column,
    ])
    expect(rows).toEqual([
      [2, 'valid', undefined],
      [3, 'refused', 'media'],
    ])
    expect(await assetCount()).toBe(before)
    const made = await bulk({ csv: csv(), partial: true })
    expect(made.status, made.text).toBe(201)
    expect(await assetCount()).toBe(before + 2)
  })

  test('has recurring posts', async () => {
    const recurring = [
      'content,scheduledFor,timezone,recurrence,accounts',
      `Weekly,2026-12-07 09:00,Europe/Berlin,FREQ=WEEKLY;COUNT=3;,${accountId}`,
      `Wrong,2026-12-07 10:00,Europe/Berlin,FREQ=SOMETIMES,${accountId}`,
    ].join('\n')
    const dry = await bulk({ csv: recurring, dryRun: true })
    const verdicts = (dry.body.data as BulkResultData).rows
    expect(verdicts.map(({ errors, localTime, status }) => [status, localTime, errors[0]?.column])).toEqual([
      ['valid', '2026-12-07T09:00:00', undefined],
      ['refused', null, 'recurrence'],
    ])
    const series = async () => {
      const reply = await app.send('GET /api/posts/series', { apiKey: owner.apiKey, query: { workspaceId } })
      return (reply.body.data as { recurrence: { rrule: string } }[]).map(({ recurrence }) => recurrence.rrule)
    }
    expect(await series()).toEqual([])
    const refused = await bulk({ csv: recurring })
    expect(refused.status).toBe(400)
    expect(await series()).toEqual([])
    const made = await bulk({ csv: recurring, partial: true })
    expect(made.status, made.text).toBe(201)
    expect(await series()).toEqual(['FREQ=WEEKLY;COUNT=3'])
    const { batchId, rows } = made.body.data as BulkResultData
    const first = await send('GET /api/posts/{id}', undefined, { id: rows[0]?.postId ?? '' })
    expect(first.body.data).toMatchObject({ batchId, status: 'scheduled', occurrence: '2026-12-07T09:00:00' })
  })
})
