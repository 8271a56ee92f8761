import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { ALL_SCOPES } from '../../src/core/scope.ts'
import {
  createWorkspace,
  deleteWorkspace,
  getWorkspace,
  listAuditLog,
  listWorkspaces,
  syncEvents,
  updateAiSettings,
  updateWorkspace,
} from '../../src/domains/workspace/workspaces/operations.ts'
import { createStream } from '../../src/domains/live/streams/operations.ts'
import { payerOf } from '../../src/domains/workspace/workspaces/index.ts'
import { startApp, type App } from '../support/app.ts'
import type { Reply, SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock()
let app: App
let world: World

beforeAll(async () => {
  // Enough connections for requests to run concurrently in the database.
  app = await startApp({ clock, env: { DATABASE_POOL: '12' } })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'edith', { role: 'editor' })
  await world.member('acme', 'adam', { role: 'admin' })
  await world.member('acme', 'clio', { role: 'client' })
  await world.user('otto')
})
afterAll(() => app?.stop())

const at = (workspace: string) => ({ path: { workspaceId: world.id(workspace) } })
const NEW = { name: 'New', timezone: 'Europe/Berlin' }

const statuses = (replies: readonly Reply[]) => replies.map((reply) => reply.status).toSorted((a, b) => a - b)

/** Creates a workspace with a new user as its owner. */
async function own(name: string): Promise<string> {
  await world.workspace(name, `${name}owner`)
  return `${name}owner`
}

describe('creating a workspace', () => {
  test('makes the caller the owner', async () => {
    await world.user('cora')
    const logo = 'https://acme.example/logo.png'
    const made = await world.as('cora').call(createWorkspace, { body: { ...NEW, name: '  Cora’s  ', logo } })
    expect(made.status).toBe(201)
    expect(made.headers.get('etag')).toBe('"1"')
    expect(made.body.data).toMatchObject({
      name: 'Cora’s',
      timezone: 'Europe/Berlin',
      logo,
      ownerId: world.id('cora'),
      role: 'owner',
      version: 1,
      createdAt: new Date(clock.now()).toISOString(),
      aiSettings: { tone: 'friendly', language: 'en', hashtagCount: 5, bannedWords: [], emoji: 'few', model: null },
    })
    expect(made.body.data.scopes).toEqual(ALL_SCOPES.toSorted())
    const read = await world.as('cora').call(getWorkspace, { path: { workspaceId: made.body.data._id } })
    expect(read.body.data).toEqual(made.body.data)
    const log = await world.as('cora').call(listAuditLog, { path: { workspaceId: made.body.data._id } })
    expect(log.body.data).toMatchObject([
      {
        action: 'createWorkspace',
        actor: { _id: world.id('cora') },
        target: { kind: 'workspace', _id: made.body.data._id },
      },
    ])
  })

  test.each([
    ['an offset', { ...NEW, timezone: '+02:00' }, '/body/timezone'],
    ['an unknown time zone', { ...NEW, timezone: 'Europe/Atlantis' }, '/body/timezone'],
    ['an empty name', { ...NEW, name: '   ' }, '/body/name'],
    ['a logo that is a script', { ...NEW, logo: 'javascript:alert(1)' }, '/body/logo'],
    ['an unknown field', { ...NEW, colour: 'red' }, '/body/colour'],
    ['no time zone', { name: 'New' }, '/body/timezone'],
  ])('refuses %s', async (_what, body, path) => {
    const refused = await world.as('otto').call(createWorkspace, { body })
    expect(refused.status).toBe(400)
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual([path])
  })

  test.each(['greta', 'gina', 'gus'])(
    'stops at the plan’s limit, also under twenty requests at once: %s',
    async (who) => {
      await world.user(who)
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          world.as(who).call(createWorkspace, { body: { ...NEW, name: `W${index}` } }),
        ),
      )
      expect(statuses(replies)).toEqual([
        ...Array.from({ length: 3 }, () => 201),
        ...Array.from({ length: 17 }, () => 402),
      ])
      const refused = replies.find((reply) => reply.status === 402)?.body
      expect(refused).toMatchObject({
        code: 'plan_limit_reached',
        details: { limit: 'workspaces', value: 3, used: 3, plan: 'free' },
      })
      expect(refused.message).toContain('3 workspaces')
      await app.composition.services.plans.change(world.id(who), 'starter')
      expect((await world.as(who).call(createWorkspace, { body: NEW })).status).toBe(201)
    },
  )

  test('counts owned workspaces only, and no deleted ones', async () => {
    await own('hub')
    const names = ['One', 'Two', 'Three']
    for (const name of names) await world.workspace(name, 'max')
    await world.member('hub', 'max', { role: 'editor' })
    expect((await world.as('max').call(createWorkspace, { body: NEW })).status).toBe(402)
    await world.as('max').call(deleteWorkspace, { ...at('Two'), body: { name: 'Two' } })
    expect((await world.as('max').call(createWorkspace, { body: NEW })).status).toBe(201)
  })
})

describe('listing workspaces', () => {
  test('shows the workspaces of the caller with role and scopes, newest first, in pages', async () => {
    await world.user('lena')
    for (const name of ['l1', 'l2', 'l3']) {
      clock.advance(1_000)
      await own(name)
    }
    await world.member('l1', 'lena', { role: 'client' })
    await world.member('l2', 'lena', { scopes: ['team:read', 'streams:read'] })
    await world.member('l3', 'lena', { role: 'admin' })
    const first = await world.as('lena').call(listWorkspaces, { query: { limit: 2 } })
    expect(first.body.data.map((row: { name: string }) => row.name)).toEqual(['l3', 'l2'])
    expect(first.body.data[0].role).toBe('admin')
    expect(first.body.data[1].role).toMatch(/^role of lena/)
    expect(first.body.data[1].scopes).toEqual(['streams:read', 'team:read'])
    const { nextCursor, hasMore } = first.body.pagination
    expect(hasMore).toBe(true)
    const second = await world.as('lena').call(listWorkspaces, { query: { limit: 2, cursor: nextCursor } })
    expect(second.body.data.map((row: { name: string; role: string }) => [row.name, row.role])).toEqual([
      ['l1', 'client'],
    ])
    expect(second.body.pagination).toMatchObject({ hasMore: false, nextCursor: null })
  })
})

describe('tenancy and roles', () => {
  const calls: [string, Parameters<ReturnType<World['as']>['call']>[0], SendOptions][] = [
    ['getWorkspace', getWorkspace, {}],
    ['updateWorkspace', updateWorkspace, { body: { name: 'Mine' } }],
    ['deleteWorkspace', deleteWorkspace, { body: { name: 'acme' } }],
    ['updateAiSettings', updateAiSettings, { body: { tone: 'loud' } }],
    ['listAuditLog', listAuditLog, {}],
    ['syncEvents', syncEvents, {}],
  ]
  const withoutRequestId = (reply: Reply) => reply.text.replace(reply.body.requestId as string, 'REQUEST')

  test.each(calls)(
    '%s gives outsiders the same reply as for an unknown workspace',
    async (_name, operation, options) => {
      const theirs = await world.as('otto').call(operation, { ...options, ...at('acme') })
      const missing = await world.as('otto').call(operation, { ...options, path: { workspaceId: uuidv7(Date.now()) } })
      expect([theirs.status, missing.status]).toEqual([404, 404])
      expect(withoutRequestId(theirs)).toBe(withoutRequestId(missing))
      const malformed = await world.as('otto').call(operation, { ...options, path: { workspaceId: 'x' } })
      expect(withoutRequestId(malformed)).toBe(withoutRequestId(missing))
    },
  )

  test('an editor can read but not manage a workspace', async () => {
    expect((await world.as('edith').call(getWorkspace, at('acme'))).body.data).toMatchObject({
      role: 'editor',
      name: 'acme',
    })
    expect((await world.as('edith').call(syncEvents, at('acme'))).status).toBe(200)
    for (const [, operation, options] of calls.filter(([name]) => name !== 'getWorkspace' && name !== 'syncEvents')) {
      const refused = await world.as('edith').call(operation, { ...options, ...at('acme') })
      expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
      expect(refused.body.message).toContain('workspace:manage')
    }
  })

  test('an admin can update but not delete a workspace', async () => {
    expect((await world.as('adam').call(updateWorkspace, { ...at('acme'), body: { timezone: 'UTC' } })).status).toBe(
      200,
    )
    const refused = await world.as('adam').call(deleteWorkspace, { ...at('acme'), body: { name: 'acme' } })
    expect([refused.status, refused.body.message]).toEqual([403, 'Only an owner can delete the workspace.'])
  })

  test('a new role takes effect at once', async () => {
    expect((await world.as('clio').call(updateWorkspace, { ...at('acme'), body: { name: 'acme' } })).status).toBe(403)
    await world.member('acme', 'clio', { role: 'admin' })
    expect((await world.as('clio').call(updateWorkspace, { ...at('acme'), body: { name: 'acme' } })).status).toBe(200)
  })
})

describe('updating a workspace', () => {
  test('changes only the fields that are sent, and increases the version', async () => {
    const owner = await own('change')
    const changed = await world
      .as(owner)
      .call(updateWorkspace, { ...at('change'), body: { name: 'Changed', logo: 'https://x.example/l.png' } })
    expect(changed.status).toBe(200)
    expect(changed.body.data).toMatchObject({ name: 'Changed', timezone: 'Europe/Berlin', version: 2 })
    expect(changed.headers.get('etag')).toBe('"2"')
    const cleared = await world.as(owner).call(updateWorkspace, { ...at('change'), body: { logo: null } })
    expect(cleared.body.data).toMatchObject({ logo: null, name: 'Changed', version: 3 })
    expect((await world.as(owner).call(updateWorkspace, { ...at('change'), body: {} })).status).toBe(400)
  })

  test('honors If-Match: exactly one of many concurrent updates succeeds', async () => {
    const owner = await own('match')
    const etag = (await world.as(owner).call(getWorkspace, at('match'))).headers.get('etag') ?? ''
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        world
          .as(owner)
          .call(updateWorkspace, { ...at('match'), headers: { 'If-Match': etag }, body: { name: `Name ${index}` } }),
      ),
    )
    expect(statuses(replies)).toEqual([200, ...Array.from({ length: 9 }, () => 412)])
    expect(replies.find((reply) => reply.status === 412)?.body.code).toBe('precondition_failed')
    const stale = { ...at('match'), headers: { 'If-Match': etag } }
    expect((await world.as(owner).call(updateAiSettings, { ...stale, body: { tone: 'dry' } })).status).toBe(412)
    const now = await world.as(owner).call(getWorkspace, at('match'))
    expect((await world.as(owner).call(deleteWorkspace, { ...stale, body: { name: now.body.data.name } })).status).toBe(
      412,
    )
    const fresh = await world.as(owner).call(getWorkspace, { ...at('match'), headers: { 'If-None-Match': '"2"' } })
    expect(fresh.status).toBe(304)
  })

  test('merges AI settings', async () => {
    const owner = await own('ai')
    await world
      .as(owner)
      .call(updateAiSettings, { ...at('ai'), body: { tone: 'dry', bannedWords: ['synergy'], model: 'gpt' } })
    const changed = await world
      .as(owner)
      .call(updateAiSettings, { ...at('ai'), body: { hashtagCount: 0, model: null } })
    expect(changed.body.data.aiSettings).toEqual({
      tone: 'dry',
      language: 'en',
      hashtagCount: 0,
      bannedWords: ['synergy'],
      emoji: 'few',
      model: null,
      creditLimitPerMonth: null,
      autoPublishModelText: false,
    })
    const refused = await world.as(owner).call(updateAiSettings, {
      ...at('ai'),
      body: { hashtagCount: 31, language: 'English', emoji: 'lots' },
    })
    expect(refused.body.errors.map((error: { path: string }) => error.path).toSorted()).toEqual([
      '/body/emoji',
      '/body/hashtagCount',
      '/body/language',
    ])
  })
})

describe('deleting a workspace', () => {
  test('requires the name, runs the deletion hooks, and makes the workspace inaccessible', async () => {
    const owner = await own('gone')
    await world.member('gone', 'guest', { role: 'editor' })
    expect((await world.as('guest').call(getWorkspace, at('gone'))).status).toBe(200)
    const cancelled: string[] = []
    app.composition.services.workspaces.service.onDelete(async (turn) => void cancelled.push(turn.workspaceId))
    const wrong = await world.as(owner).call(deleteWorkspace, { ...at('gone'), body: { name: 'Gone' } })
    expect([wrong.status, wrong.body.errors[0].path]).toEqual([400, '/body/name'])
    expect(cancelled).toEqual([])

    const deleted = await world.as(owner).call(deleteWorkspace, { ...at('gone'), body: { name: 'gone' } })
    expect(deleted.body.data).toEqual({
      _id: world.id('gone'),
      deletedAt: new Date(clock.now()).toISOString(),
      purgeAt: new Date(clock.now() + 30 * DAY).toISOString(),
    })
    expect(cancelled).toEqual([world.id('gone')])
    for (const who of [owner, 'guest']) {
      const missing = await world.as('otto').call(getWorkspace, { path: { workspaceId: uuidv7(Date.now()) } })
      const reply = await world.as(who).call(getWorkspace, at('gone'))
      expect(reply.status).toBe(404)
      expect(reply.text.replace(reply.body.requestId as string, '')).toBe(
        missing.text.replace(missing.body.requestId as string, ''),
      )
      expect((await world.as(who).call(listWorkspaces)).body.data).toEqual([])
    }
    expect((await world.as(owner).call(deleteWorkspace, { ...at('gone'), body: { name: 'gone' } })).status).toBe(404)
    expect(await payerOf(app.database, world.id('gone'))).toBeUndefined()
  })

  test('succeeds once when two requests are concurrent', async () => {
    const owner = await own('twice')
    const call = () => world.as(owner).call(deleteWorkspace, { ...at('twice'), body: { name: 'twice' } })
    const replies = await Promise.all([call(), call(), call()])
    expect(statuses(replies)).toEqual([200, 404, 404])
  })

  test('keeps all data for the grace period and none after it', async () => {
    const owner = await own('purge')
    const body = { workspaceId: world.id('purge'), title: 'Recorded' }
    const stream = await world.as(owner).call(createStream, { body })
    await app.database.run(
      `insert into stream_recordings (id, workspace_id, stream_id, session_id, file, status, started_at, created_at, updated_at)
       values ($1, $2, $3, $1, 'purge.mp4', 'ready', now(), now(), now())`,
      [uuidv7(clock.now()), world.id('purge'), stream.body.data._id],
    )
    await world.as(owner).call(deleteWorkspace, { ...at('purge'), body: { name: 'purge' } })
    const { workspaces } = app.composition.services
    // Jobs of the deletion end now, not after the grace period.
    const open = `select 1 from outbox where workspace_id = $1`
    await waitFor(async () => (await app.database.rows(open, [world.id('purge')])).length === 0, { what: 'the jobs' })
    /** Counts the rows of the workspace in every table with a workspace id. Jobs keep their records for a day. */
    const left = async () => {
      const tables = await app.database.rows<{ name: string }>(
        `select table_name as name from information_schema.columns join information_schema.tables using (table_schema, table_name)
         where table_schema = 'public' and column_name = 'workspace_id' and table_type = 'BASE TABLE' and table_name <> 'finished_jobs' order by 1`,
      )
      const counts = tables.map(
        ({ name }) => `select '${name}' as name, count(*)::int as n from ${name} where workspace_id = $1`,
      )
      counts.push(`select 'workspaces', count(*)::int from workspaces where id = $1`)
      counts.push(`select 'actor_fence', count(*)::int from actor_fence where key = 'ws:' || $1::text`)
      const rows = await app.database.rows<{ name: string; n: number }>(counts.join(' union all '), [world.id('purge')])
      return Object.fromEntries(rows.filter(({ n }) => n > 0).map(({ n, name }) => [name, n]))
    }
    clock.advance(30 * DAY - 1)
    await workspaces.service.purgeDue()
    expect(await left()).toMatchObject({
      workspaces: 1,
      workspace_members: 1,
      streams: 1,
      stream_recordings: 1,
      actor_fence: 1,
    })
    clock.advance(1)
    expect(await workspaces.service.purgeDue()).toBeGreaterThan(0)
    expect(await left()).toEqual({})
    expect((await world.as('ada').call(getWorkspace, at('acme'))).status).toBe(200)
  })
})
