import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/core/clock.ts'
import type { Sql } from '../../src/core/sql.ts'
import { dryScope } from '../../src/domains/publishing/posts/planning-scope.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { warningsOfMany, warningsOfNew } from '../../src/domains/publishing/writing/repeated-texts.ts'
import { PostWorld } from '../support/post-world.ts'

/** Two posts of an account with the same text within an hour get a warning, wherever they are written. */

let world: PostWorld
let accountId: string
let otherId: string
let hours = 0

beforeAll(async () => {
  world = await PostWorld.start('repeats')
  accountId = await world.account('mastodon')
  otherId = await world.account('mastodon', 'another')
})
afterAll(() => world?.stop())

/** A time that no other test is near to. */
function freeTime(): number {
  hours += 10
  return world.clock.now() + hours * HOUR
}

const body = (content: string, at: number, more: object = {}) => ({
  content,
  targets: [{ accountId }],
  scheduledFor: new Date(at).toISOString(),
  ...more,
})

async function create(content: string, at: number, more: object = {}) {
  const post = await world.create(body(content, at, more))
  return post as typeof post & { readonly warnings: readonly { code: string; postId: string | null }[] }
}

async function checked(content: string, at: number, more: object = {}) {
  const reply = await world.send('POST /api/posts/validate', {
    body: { workspaceId: world.workspaceId, ...body(content, at, more) },
  })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data as {
    isValid: boolean
    targets: { warnings: { rule: string; severity: string; message: string }[] }[]
  }
}

async function bulk(posts: object[], extra: object = {}) {
  const reply = await world.send('POST /api/posts/bulk', { body: { workspaceId: world.workspaceId, posts, ...extra } })
  expect(reply.status, reply.text).toBeLessThan(300)
  return reply.body.data.rows as {
    postId: string | null
    warnings: { code: string; accountId: string; postId: string | null; message: string }[]
  }[]
}

/** The database, with the statements that it is asked. */
function counting() {
  const asked: string[] = []
  const sql: Sql = {
    row: () => Promise.reject(new Error('one row')),
    run: () => Promise.reject(new Error('a write')),
    rows: (text, values) => {
      asked.push(text)
      return world.app.database.rows(text, values)
    },
  }
  return { asked, sql }
}

test('texts are read only if the account has another post within the hour', async () => {
  const at = freeTime()
  const texts = async (post: PostData) => {
    const { asked, sql } = counting()
    await warningsOfNew(dryScope(sql, world.workspaceId), post)
    return asked.filter((text) => text.includes('unnest')).length
  }
  const alone = await create('Alone', at)
  expect(await texts(alone)).toBe(0)
  await create('Near', at + HOUR)
  expect(await texts(alone)).toBe(1)
})

test('a new post is created, with a warning that names the other post', async () => {
  const at = freeTime()
  const first = await create('Good morning', at)
  expect(first.warnings).toEqual([])
  const second = await create('Good morning', at + HOUR)
  expect(second.warnings).toEqual([
    {
      code: 'text_repeated',
      accountId,
      postId: first._id,
      message: expect.stringContaining(new Date(at).toISOString()),
      nextStep: expect.any(String),
    },
  ])
  expect(await world.get(second._id), 'the warning is not part of the post').not.toHaveProperty('warnings')
})

test('another hour, text or account is no repetition, nor is a draft or a cancelled post', async () => {
  const at = freeTime()
  const first = await create('Once', at)
  expect((await create('Once', at + HOUR + 1_000)).warnings).toEqual([])
  expect((await create('Once more', at)).warnings).toEqual([])
  expect((await create('Once', at, { targets: [{ accountId: otherId }] })).warnings).toEqual([])
  const draft = await world.create({ content: 'Once', targets: [{ accountId }] })
  expect(draft).toMatchObject({ warnings: [] })
  const own = { targets: [{ accountId, override: { content: 'Its own' } }] }
  expect((await create('Once', at, own)).warnings, 'the text at the account counts').toEqual([])
  expect((await create('Its own', at)).warnings).toHaveLength(1)
  const earlier = at - 30 * MINUTE
  const cancelled = freeTime()
  const gone = await create('Gone', cancelled)
  await world.on(gone._id, 'cancel')
  expect((await create('Gone', cancelled)).warnings).toEqual([])
  expect((await create('Once', earlier)).warnings).toMatchObject([{ postId: first._id }])
})

test('a post that was published within the hour counts', async () => {
  const now = world.clock.now()
  const published = await world.create({ content: 'Out now', targets: [{ accountId }], publishNow: true })
  await world.ended(published._id, 'published')
  expect((await create('Out now', now + 30 * MINUTE)).warnings).toMatchObject([{ postId: published._id }])
})

test('a check warns, and the post is still valid', async () => {
  const at = freeTime()
  expect((await checked('Check me', at)).targets[0]?.warnings).toEqual([])
  await create('Check me', at)
  const { isValid, targets } = await checked('Check me', at - 10 * MINUTE)
  expect(isValid).toBe(true)
  expect(targets[0]?.warnings).toMatchObject([{ rule: 'text.repeated', severity: 'warning' }])
  for (const far of [at - HOUR - 1_000, at + HOUR + 1_000]) {
    expect((await checked('Check me', far)).targets[0]?.warnings, 'more than an hour away').toEqual([])
  }
  const both = { targets: [{ accountId: otherId }, { accountId }] }
  expect((await checked('Check me', at, both)).targets.map(({ warnings }) => warnings.length)).toEqual([0, 1])
})

test('rows of a bulk request are compared with posts and with each other', async () => {
  const at = freeTime()
  const stored = await create('Stored', at)
  const rows = [
    body('Stored', at + 30 * MINUTE),
    body('Twice', at),
    body('Twice', at + 2 * HOUR),
    body('Twice', at + 3 * HOUR, { targets: [{ accountId }, { accountId: otherId }] }),
    { content: 'Twice', targets: [{ accountId }] },
  ]
  const dry = await bulk(rows, { dryRun: true })
  expect(dry.map(({ warnings }) => warnings.map(({ postId }) => postId))).toEqual([[stored._id], [], [], [null], []])
  expect(dry[3]?.warnings[0]).toMatchObject({ code: 'text_repeated', accountId })
  expect(dry[3]?.warnings[0]?.message).toContain('Row 3')
  const refused = await world.send('POST /api/posts/bulk', {
    body: {
      workspaceId: world.workspaceId,
      posts: [...rows, { content: 'x', targets: [{ accountId: randomUUID() }] }],
    },
  })
  expect(refused.status).toBe(400)
  expect(refused.body.details.rows[3].warnings, 'nothing is created').toMatchObject([{ postId: null }])
  const created = await bulk(rows)
  expect(created[3]?.warnings).toMatchObject([{ postId: created[2]?.postId }])
  expect(created[0]?.warnings).toMatchObject([{ postId: stored._id }])
})

test('many texts are compared by one statement, which finds the posts of an account around a time with an index', async () => {
  const at = freeTime()
  const stored = await create('Asked once', at)
  const { database } = world.app
  const { asked, sql } = counting()
  const text = { accountId, text: 'Asked once', at }
  const many = Array.from({ length: 500 }, (_, index) => ({
    row: index + 1,
    postId: null,
    texts: [index === 0 ? text : { ...text, at: at + index * 3 * HOUR }],
  }))
  const warnings = await warningsOfMany(sql, many)
  expect(asked).toHaveLength(1)
  expect(warnings.flat()).toMatchObject([{ postId: stored._id }])
  const plan = await database.transaction(async (tx) => {
    await tx.run('set local enable_seqscan = off')
    const values = [[accountId], [new Date(at)], ['00'], ['scheduled', 'published', 'in_review']]
    return tx.rows<Record<string, string>>(`explain ${asked[0]}`, values)
  })
  expect(plan.flatMap(Object.values).join('\n')).toMatch(
    /post_targets_by_account[\s\S]*account_id = w.account_id.*scheduled_at >=/,
  )
})
