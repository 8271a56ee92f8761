import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import type { BulkResultData } from '../../src/domains/publishing/writing/bulk/schemas.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'

/** Limits of an app of a platform, which all accounts of this server share. */

const LIMIT = 5

let app: App
let here: Team
let there: Team
let folder: string
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

interface Team {
  readonly owner: SeededUser
  readonly workspaceId: string
  readonly accountId: string
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'crier-app-budgets-'))
  const file = join(folder, 'rules.json')
  writeFileSync(file, JSON.stringify({ x: { 'app.postsPerDay': LIMIT } }))
  app = await startApp({ clock, jobTimes: QUICK, env: { PLATFORM_RULES_FILE: file, RATE_LIMITS: 'off' } })
})
afterAll(async () => {
  await app?.stop()
  rmSync(folder, { recursive: true })
})

beforeEach(async () => {
  // Days on which no other test has scheduled anything.
  clock.advance(100 * HOUR)
  here = await team()
  there = await team()
})

async function team(): Promise<Team> {
  const owner = await seedUser(app, `owner-${randomUUID()}`)
  const workspaceId = await seedWorkspace(app, 'Team', owner)
  const body = { workspaceId, platform: 'x', sandbox: true }
  const { data } = (await app.send('POST /api/social-accounts', { apiKey: owner.apiKey, body })).body
  return { owner, workspaceId, accountId: data._id }
}

const at = (hours: number) => new Date(clock.now() + hours * HOUR).toISOString()

const create = ({ accountId, owner, workspaceId }: Team, body: object = {}) =>
  app.send('POST /api/posts', {
    apiKey: owner.apiKey,
    body: { workspaceId, content: `post ${randomUUID()}`, targets: [{ accountId }], scheduledFor: at(5), ...body },
  })

const created = async (by: Team, body: object = {}) => {
  const reply = await create(by, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}

test('are shared by all workspaces, for any 24 hours', async () => {
  const cancelled = await created(here, { scheduledFor: at(1) })
  await created(here, { thread: [{ content: 'part two' }] })
  for (const hours of [2, 9]) await created(there, { scheduledFor: at(hours) })
  const refused = await create(there)
  expect([refused.status, refused.body.code]).toEqual([409, 'budget_exceeded'])
  expect(refused.body.details).toMatchObject({
    scope: 'app',
    platform: 'x',
    rule: 'app.postsPerDay',
    allowed: LIMIT,
    used: LIMIT,
    needed: 1,
    origin: 'operator',
    nextDay: { scheduledFor: at(29.5).replace(/T.*/, 'T17:00:00.000Z') },
  })
  expect(refused.body.message).toContain('All accounts of this server together')
  await created(there, { scheduledFor: at(34) })
  const path = { id: cancelled._id }
  await app.send('POST /api/posts/{id}/cancel', { apiKey: here.owner.apiKey, path })
  await created(there)
})

test('count the rows of one bulk request', async () => {
  const { accountId, owner, workspaceId } = here
  await created(there)
  const posts = Array.from({ length: LIMIT }, (_, index) => {
    return { content: `row ${index}`, targets: [{ accountId }], scheduledFor: at(4 + index) }
  })
  const dry = await app.send('POST /api/posts/bulk', {
    apiKey: owner.apiKey,
    body: { workspaceId, posts, dryRun: true },
  })
  const { rows } = dry.body.data as BulkResultData
  expect(rows.map(({ status }) => status)).toEqual(['valid', 'valid', 'valid', 'valid', 'refused'])
  expect(rows.at(-1)?.errors).toMatchObject([{ code: 'budget_exceeded' }])
})

test('hold when workspaces schedule at once', async () => {
  const replies = await Promise.all(
    [here, there].flatMap((one) => Array.from({ length: LIMIT }, () => create(one, { scheduledFor: at(6) }))),
  )
  const counts = Map.groupBy(replies, ({ status }) => status)
  expect([counts.get(201)?.length, counts.get(409)?.length]).toEqual([LIMIT, LIMIT])
})
