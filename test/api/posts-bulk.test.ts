import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import type { BulkResultData } from '../../src/domains/publishing/writing/bulk/schemas.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

let app: App
let owner: SeededUser
let workspaceId: string
let accountId: string
/** A Monday. */
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  app = await startApp({ clock, jobTimes: QUICK })
})
afterAll(() => app.stop())

beforeEach(async () => {
  owner = await seedUser(app, `owner-${randomUUID()}`)
  workspaceId = await seedWorkspace(app, 'Bulk', owner)
  const body = { workspaceId, platform: 'mastodon', sandbox: true }
  const reply = await app.send('POST /api/social-accounts', { ...as(), body })
  expect(reply.status, reply.text).toBe(201)
  accountId = reply.body.data._id
})

const as = () => ({ apiKey: owner.apiKey })

const bulk = (body: object) => app.send('POST /api/posts/bulk', { ...as(), body: { workspaceId, ...body } })

async function made(body: object): Promise<BulkResultData & { batchId: string }> {
  const reply = await bulk(body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

async function all(query: object = {}): Promise<PostData[]> {
  const reply = await app.send('GET /api/posts', { ...as(), query: { workspaceId, limit: 100, ...query } })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}

async function upload(csv: string | Buffer, fields: Record<string, string> = {}) {
  const form = new FormData()
  for (const [name, value] of Object.entries({ workspaceId, ...fields })) form.append(name, value)
  form.append('file', new Blob([new Uint8Array(Buffer.from(csv))]), 'posts.csv')
  const headers = { 'x-api-key': owner.apiKey }
  return fetch(`${app.url}/api/posts/import`, { method: 'POST', headers, body: form })
}

const SHEET = [
  'Content;Scheduled For;Timezone;Accounts;Labels',
  '"first; with ""quotes""\nand a second line";01.12.2026 09:00;Europe/Berlin;ACCOUNT;launch, news',
  'second;2026-12-01 10:00;Europe/Berlin;ACCOUNT;',
  '',
  'a draft;;;;',
].join('\r\n')
const sheet = () => SHEET.replaceAll('ACCOUNT', accountId)

describe('a CSV file', () => {
  test('is judged row by row first, and then makes its posts', async () => {
    const dry = await bulk({ csv: sheet(), dryRun: true })
    expect(dry.status, dry.text).toBe(200)
    expect(dry.body.data.rows.map(({ row, status }: BulkResultData['rows'][0]) => [row, status])).toEqual([
      [2, 'valid'],
      [3, 'valid'],
      [5, 'valid'],
    ])
    expect(await all()).toEqual([])
    const result = await made({ csv: sheet() })
    expect(result.createdCount).toBe(3)
    const [draft, second, first] = await all()
    expect(first).toMatchObject({
      content: 'first; with "quotes"\nand a second line',
      localTime: '2026-12-01T09:00:00',
      labels: ['launch', 'news'],
      batchId: result.batchId,
      status: 'scheduled',
    })
    expect([second?.content, draft?.content, draft?.status]).toEqual(['second', 'a draft', 'draft'])
  })

  test('takes times as spreadsheets and calendars write them', async () => {
    const csv = [
      'content\tscheduledFor\ttimezone\taccounts',
      `narrow\t12/13/2026, 9:00\u202FPM\tEurope/Berlin\t${accountId}`,
      `offset\t2026-12-13T09:00:00+0530\tAsia/Kolkata\t${accountId}`,
    ].join('\n')
    const dry = await bulk({ csv, dryRun: true })
    expect(dry.status, dry.text).toBe(200)
    const rows = dry.body.data.rows as BulkResultData['rows']
    expect(rows.map(({ errors, localTime, scheduledFor }) => [localTime, scheduledFor, errors])).toEqual([
      ['2026-12-13T21:00:00', '2026-12-13T20:00:00.000Z', []],
      ['2026-12-13T09:00:00', '2026-12-13T03:30:00.000Z', []],
    ])
  })

  test('can be uploaded as a file', async () => {
    const reply = await upload(`\uFEFF${sheet()}`)
    expect(reply.status).toBe(201)
    expect((await all()).length).toBe(3)
    const broken = await upload('content\n"never closed')
    expect([broken.status, ((await broken.json()) as { code: string }).code]).toEqual([400, 'validation_failed'])
    expect((await upload(sheet(), { dryRun: 'true' })).status).toBe(200)
  })

  test('makes all of its posts or none, and with partial those of its valid rows', async () => {
    const csv = [
      'content,scheduledFor,timezone,accounts',
      `good,2026-12-01 09:00,Europe/Berlin,${accountId}`,
      `no such time,2026-12-32 09:00,Europe/Berlin,${accountId}`,
      'no such account,2026-12-01 09:00,Europe/Berlin,nobody',
      `${'x'.repeat(501)},2026-12-01 09:00,Europe/Berlin,${accountId}`,
      `past,2026-11-01 09:00,Europe/Berlin,${accountId}`,
    ].join('\n')
    const refused = await bulk({ csv })
    expect([refused.status, refused.body.code]).toEqual([400, 'bulk_refused'])
    const rows = refused.body.details.rows as BulkResultData['rows']
    expect(rows.map(({ errors: [error], row }) => [row, error?.code, error?.column])).toEqual([
      [2, undefined, undefined],
      [3, 'invalid_cell', 'scheduledFor'],
      [4, 'unknown_account', 'accounts'],
      [5, 'text.max', 'accounts'],
      [6, 'time_in_past', 'scheduledFor'],
    ])
    expect(await all()).toEqual([])
    const result = await made({ csv, partial: true })
    expect([result.createdCount, result.refusedCount]).toEqual([1, 4])
    expect((await all()).map(({ content }) => content)).toEqual(['good'])
  })
})

describe('a file with queue slots instead of times', () => {
  const lines = (...rows: string[]) =>
    ['content,queue,accounts', ...rows.map((row) => `${row},${accountId}`)].join('\n')
  const times = async () => Object.fromEntries((await all()).map(({ content, localTime }) => [content, localTime]))

  test('gives each row the next free slot of its label, as the dry run has shown', async () => {
    const slots = [
      { weekday: 'tuesday', time: '09:00' },
      { weekday: 'tuesday', time: '15:00', label: 'tips' },
    ]
    await app.send('PUT /api/posts/queue', { ...as(), body: { workspaceId, slots } })
    const csv = lines('tip,label:tips', 'one,next', 'two,next')
    const dry = await bulk({ csv, dryRun: true })
    expect((await upload(csv)).status).toBe(201)
    const expected = { tip: '2026-12-01T15:00:00', one: '2026-12-01T09:00:00', two: '2026-12-08T09:00:00' }
    expect(await times()).toEqual(expected)
    expect(dry.body.data.rows.map(({ localTime }: BulkResultData['rows'][0]) => localTime)).toEqual(
      Object.values(expected),
    )
    // A later import takes the slots after these, whatever its format.
    await made({ posts: [{ content: 'three', queue: { label: 'tips' }, targets: [{ accountId }] }] })
    expect((await upload(lines('four,next'))).status).toBe(201)
    expect(await times()).toEqual({ ...expected, three: '2026-12-08T15:00:00', four: '2026-12-15T09:00:00' })
  })

  test('uses the slots of its user while the workspace has no queue, and refuses rows without a slot', async () => {
    const none = await bulk({ csv: lines('one,next') })
    expect([none.status, none.body.code]).toEqual([400, 'bulk_refused'])
    expect(none.body.details.rows[0].errors).toEqual([
      expect.objectContaining({ code: 'queue_full', message: expect.stringContaining('Add one') }),
    ])
    const body = { queueSlots: [{ weekday: 'wednesday', time: '10:00' }] }
    await app.send('PATCH /api/users/me/settings/publishing', { ...as(), body })
    expect((await upload(lines('one,next', 'two,next'))).status).toBe(201)
    expect(await times()).toEqual({ one: '2026-12-02T10:00:00', two: '2026-12-09T10:00:00' })
    // The slots of users have no labels.
    expect((await upload(lines('tip,label:tips'))).status).toBe(400)
  })
})

describe('a JSON list', () => {
  test('gives each queued post its own slot, as the dry run has shown', async () => {
    const slots = ['09:00', '15:00'].map((time) => ({ weekday: 'tuesday', time }))
    await app.send('PUT /api/posts/queue', { ...as(), body: { workspaceId, slots } })
    const posts = Array.from({ length: 5 }, (_, index) => {
      return { content: `queued ${index}`, queue: true, targets: [{ accountId }] }
    })
    const times = (result: BulkResultData) => result.rows.map(({ localTime }) => localTime)
    const dry = (await bulk({ posts, dryRun: true })).body.data
    const result = await made({ posts })
    expect(times(dry)).toEqual(times(result))
    expect(new Set(times(result)).size).toBe(5)
  })

  test('of 500 posts is created at once', async () => {
    const posts = Array.from({ length: 500 }, (_, index) => {
      const scheduledFor = new Date(clock.now() + (index + 1) * HOUR).toISOString()
      return { content: `post ${index}`, scheduledFor, targets: [{ accountId }] }
    })
    const { batchId, createdCount } = await made({ posts })
    expect(createdCount).toBe(500)
    const reply = await app.send('GET /api/posts/batches/{batchId}', { ...as(), path: { batchId } })
    const contents = (reply.body.data.posts as PostData[]).map(({ content }) => content)
    expect(contents).toEqual(posts.map(({ content }) => content))
    expect((await bulk({ posts: [...posts, posts[0]] })).status).toBe(400)
  })

  test('gives rows that break the schema their own verdict, and judges the others', async () => {
    const targets = [{ accountId }]
    const posts = [
      { content: 'good', targets, scheduledFor: '2026-12-01T09:00' },
      { content: 7, targets: [{ accountId: 'nobody' }], colour: 'red' },
      'not a post',
      { content: 'x'.repeat(600), targets },
      null,
      { content: 'nul \0' },
    ]
    const dry = await bulk({ posts, dryRun: true })
    expect(dry.status, dry.text).toBe(200)
    const errors = dry.body.data.rows.map((row: BulkResultData['rows'][0]) =>
      row.errors.map(({ code, path }) => [path, code]),
    )
    expect(errors).toEqual([
      [],
      [
        ['/content', 'type'],
        ['/targets/0/accountId', expect.stringMatching(/format|pattern/)],
        ['/colour', 'unknown_field'],
      ],
      [['', 'type']],
      [['/targets/0', 'text.max']],
      [['', 'type']],
      [['/content', 'nul']],
    ])
    expect(dry.body.data.rows[1].errors[0].message).toBe('must be a string, not a number')
    const refused = await bulk({ posts })
    expect([refused.status, refused.body.code]).toEqual([400, 'bulk_refused'])
    expect(refused.body.details).toMatchObject({ refusedCount: 5 })
    expect(await all()).toEqual([])
    expect(await made({ posts, partial: true })).toMatchObject({ createdCount: 1, refusedCount: 5 })
    expect(await all()).toMatchObject([{ content: 'good', status: 'scheduled' }])
  })

  test('is refused as a whole if its rows are nested without end', async () => {
    const deep = JSON.parse(`${'['.repeat(80)}${']'.repeat(80)}`)
    const reply = await bulk({ posts: [{ content: deep }] })
    expect([reply.status, reply.body.errors[0]?.code]).toEqual([400, 'too_deep'])
  })

  test('is not sent together with CSV', async () => {
    expect((await bulk({ posts: [{ content: 'a' }], csv: 'content\nb' })).body.errors[0].path).toBe('/body/csv')
    expect((await bulk({})).body.errors[0].path).toBe('/body/posts')
  })
})

describe('a batch', () => {
  test('is undone at once, without what is published', async () => {
    const { batchId, rows } = await made({
      posts: [
        { content: 'published', publishNow: true, targets: [{ accountId }] },
        { content: 'later', scheduledFor: '2026-12-24T09:00', targets: [{ accountId }] },
        { content: 'draft' },
      ],
    })
    await waitFor(async () => (await all({ batchId })).some(({ status }) => status === 'published'))
    const listed = await app.send('GET /api/posts/batches', { ...as(), query: { workspaceId } })
    expect(listed.body.data).toMatchObject([{ _id: batchId, rowCount: 3, createdCount: 3, undoneAt: null }])
    expect(listed.body.data[0].postCounts).toEqual([
      { status: 'draft', count: 1 },
      { status: 'published', count: 1 },
      { status: 'scheduled', count: 1 },
    ])
    const undone = await app.send('DELETE /api/posts/batches/{batchId}', { ...as(), path: { batchId } })
    expect(undone.body.data).toEqual({
      deletedCount: 2,
      kept: [{ postId: rows[0]?.postId, status: 'published' }],
    })
    expect((await all()).map(({ content }) => content)).toEqual(['published'])
    const again = await app.send('DELETE /api/posts/batches/{batchId}', { ...as(), path: { batchId } })
    expect(again.status).toBe(409)
  })
})

describe('an export', () => {
  const own = new Set(['_id', 'batchId', 'createdAt', 'updatedAt'])
  const without = (value: object) => Object.fromEntries(Object.entries(value).filter(([name]) => !own.has(name)))
  /** What an import must make again. */
  const copy = (post: PostData) => ({ ...without(post), targets: post.targets.map((target) => without(target)) })

  test.each(['csv', 'json'])('as %s is imported as the same posts', async (format) => {
    const other = await app.send('POST /api/social-accounts', {
      ...as(),
      body: { workspaceId, platform: 'bluesky', sandbox: true },
    })
    const otherId = other.body.data._id as string
    await made({
      posts: [
        { content: '=1+1, "quoted"; \n two lines', labels: ['a, b', 'c'], targets: [{ accountId }], draft: true },
        {
          content: 'thread',
          title: 'A title',
          thread: [{ content: 'second' }, { content: '---' }],
          firstComment: '@someone',
          tags: ['one', 'two'],
          lateMinutes: 5,
          scheduledFor: '2027-03-28T02:30',
          timezone: 'Europe/Berlin',
          targets: [
            { accountId },
            {
              accountId: otherId,
              override: { content: 'shorter', scheduledFor: '2027-03-28T09:00', timezone: 'America/New_York' },
            },
          ],
        },
        {
          content: 'the second of two hours',
          scheduledFor: '2027-10-31T02:30:00+01:00',
          timezone: 'Europe/Berlin',
          targets: [{ accountId }],
        },
      ],
    })
    const before = await all()
    const headers = { 'x-api-key': owner.apiKey }
    const exported = await fetch(`${app.url}/api/posts/export?workspaceId=${workspaceId}&format=${format}`, { headers })
    expect(exported.status).toBe(200)
    const text = Buffer.from(await exported.arrayBuffer()).toString()
    const result = await made(format === 'csv' ? { csv: text } : (JSON.parse(text) as object))
    const after = await all({ batchId: result.batchId })
    expect(after.toReversed().map(copy)).toEqual(before.map(copy))
  })

  test('has the filters of the list', async () => {
    await made({ posts: [{ content: 'one', labels: ['x'] }, { content: 'two' }] })
    const headers = { 'x-api-key': owner.apiKey }
    const reply = await fetch(`${app.url}/api/posts/export?workspaceId=${workspaceId}&format=json&label=x`, { headers })
    const { posts } = (await reply.json()) as { posts: PostData[] }
    expect(posts.map(({ content }) => content)).toEqual(['one'])
  })
})
