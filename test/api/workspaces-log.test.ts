import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import {
  createWorkspace,
  listAuditLog,
  syncEvents,
  updateAiSettings,
  updateWorkspace,
} from '../../src/domains/workspace/workspaces/operations.ts'
import { startApp, type App } from '../support/app.ts'
import { World } from '../support/world.ts'

const clock = new ManualClock()
let app: App
let world: World

beforeAll(async () => {
  app = await startApp({ clock })
  world = new World(app)
  await world.workspace('acme', 'ada')
  await world.member('acme', 'adam', { role: 'admin' })
  await world.member('acme', 'clio', { role: 'client' })
})
afterAll(() => app?.stop())

const at = (workspace = 'acme') => ({ path: { workspaceId: world.id(workspace) } })
const log = async (query: Record<string, unknown> = {}, workspace = 'acme') =>
  (await world.as('ada').call(listAuditLog, { ...at(workspace), query })).body
const sync = async (who: string, query: Record<string, unknown> = {}, workspace = 'acme') =>
  (await world.as(who).call(syncEvents, { ...at(workspace), query })).body.data

/** Inserts events of a type that no domain declares, as a turn would. */
async function foreignEvents(workspace: string, type: string, count: number): Promise<void> {
  const key = `ws:${world.id(workspace)}`
  await app.database.run('insert into actor_fence (key) values ($1) on conflict do nothing', [key])
  await app.database.run(
    `with moved as (update actor_fence set seq = seq + $3 where key = $1 returning seq - $3 as before)
     insert into workspace_events (workspace_id, seq, type, data, at)
     select $2::uuid, before + n, $4, '{}', now() from moved, generate_series(1, $3) as n`,
    [key, world.id(workspace), count, type],
  )
}

describe('the audit log', () => {
  test('records who did what to which resource, when and from where', async () => {
    clock.advance(60_000)
    await world.as('adam').call(updateWorkspace, {
      ...at(),
      body: { name: 'Acme' },
      headers: { 'User-Agent': 'tester/1.0', 'X-Request-Id': 'my-request' },
    })
    const { data } = await log()
    expect(data[0]).toEqual({
      _id: expect.any(String),
      apiKeyId: expect.any(String),
      createdAt: new Date(clock.now()).toISOString(),
      actor: { _id: world.id('adam'), name: 'adam', email: 'adam@example.com' },
      via: 'api_key',
      action: 'updateWorkspace',
      target: { kind: 'workspace', _id: world.id('acme') },
      details: { changed: ['name'] },
      ip: '127.0.0.1',
      userAgent: 'tester/1.0',
      requestId: 'my-request',
    })
  })

  test('does not record requests that failed', async () => {
    const before = (await log({ limit: 100 })).data.length
    await world.as('adam').call(updateWorkspace, { ...at(), headers: { 'If-Match': '"999"' }, body: { name: 'X' } })
    await world.as('clio').call(updateWorkspace, { ...at(), body: { name: 'X' } })
    expect((await log({ limit: 100 })).data).toHaveLength(before)
  })

  test('can be filtered and paged while entries are added', async () => {
    await world.workspace('long', 'ada')
    await world.member('long', 'adam', { role: 'admin' })
    const times: string[] = []
    for (let index = 0; index < 6; index += 1) {
      clock.advance(1_000)
      times.push(new Date(clock.now()).toISOString())
      await world
        .as(index % 2 ? 'ada' : 'adam')
        .call(updateWorkspace, { ...at('long'), body: { name: `Name ${index}` } })
    }
    await world.as('ada').call(updateAiSettings, { ...at('long'), body: { tone: 'dry' } })
    expect((await log({ actorId: world.id('adam') }, 'long')).data).toHaveLength(3)
    expect((await log({ action: 'updateAiSettings' }, 'long')).data).toHaveLength(1)
    const between = await log({ from: times[1], to: times[4] }, 'long')
    expect(between.data.map((row: { createdAt: string }) => row.createdAt)).toEqual([times[3], times[2], times[1]])

    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await log({ limit: 3, ...(cursor ? { cursor } : {}) }, 'long')
      ids.push(...page.data.map((row: { _id: string }) => row._id))
      cursor = page.pagination.nextCursor ?? undefined
      await world.as('ada').call(updateAiSettings, { ...at('long'), body: { tone: `meanwhile ${ids.length}` } })
    } while (cursor)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength(8)
    const refused = await world.as('ada').call(listAuditLog, { ...at('long'), query: { cursor: 'AAAA' } })
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, '/query/cursor'])
  })

  test('does not show entries of another workspace', async () => {
    const other = await world.as('ada').call(createWorkspace, { body: { name: 'Other', timezone: 'UTC' } })
    const rows = (await world.as('ada').call(listAuditLog, { path: { workspaceId: other.body.data._id } })).body.data
    expect(rows.map((row: { action: string }) => row.action)).toEqual(['createWorkspace'])
  })
})

describe('events', () => {
  test('have numbers without gaps after a hundred concurrent changes', async () => {
    await world.workspace('busy', 'bo')
    const admins = ['bo', 'b1', 'b2', 'b3', 'b4']
    for (const admin of admins.slice(1)) await world.member('busy', admin, { role: 'admin' })
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        world.as(admins[index % 5] as string).call(updateWorkspace, { ...at('busy'), body: { name: `Name ${index}` } }),
      ),
    )
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 100 }, () => 200))
    expect(replies.map((reply) => reply.body.data.version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 2),
    )
    const { events, lastSeq, hasMore, after } = await sync('bo', { limit: 100 }, 'busy')
    expect(events.map((row: { seq: number }) => row.seq)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    expect({ lastSeq, hasMore, after }).toEqual({ lastSeq: 100, hasMore: false, after: 100 })
    // The states in the events are in the order of their versions.
    expect(events.map((row: { data: { version: number } }) => row.data.version)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 2),
    )
    expect(app.composition.actors.stats().batches).toBeLessThan(app.composition.actors.stats().turns)
  })

  test('are listed in order and in pages after a number', async () => {
    const seen: number[] = []
    let after = 7
    for (;;) {
      const page = await sync('b1', { after, limit: 40 }, 'busy')
      seen.push(...page.events.map((row: { seq: number }) => row.seq))
      after = page.after
      if (!page.hasMore) break
    }
    expect(seen).toEqual(Array.from({ length: 93 }, (_, index) => index + 8))
    expect(await sync('b1', { after: 100 }, 'busy')).toEqual({
      events: [],
      after: 100,
      lastSeq: 100,
      generation: expect.any(String),
      hasMore: false,
      reset: false,
    })
  })

  test('are an empty list for a new workspace', async () => {
    await world.workspace('quiet', 'quentin')
    expect(await sync('quentin', {}, 'quiet')).toEqual({
      events: [],
      after: 0,
      lastSeq: 0,
      generation: expect.any(String),
      hasMore: false,
      reset: false,
    })
  })

  test('make a client that is ahead of the workspace reset', async () => {
    expect(await sync('b1', { after: 101 }, 'busy')).toEqual({
      events: [],
      after: 0,
      lastSeq: 100,
      generation: expect.any(String),
      hasMore: false,
      reset: true,
    })
  })

  test('make a client reset whose number is of another history, although the workspace has passed it', async () => {
    const { generation } = await sync('b1', { after: 99 }, 'busy')
    expect((await sync('b1', { after: 99, generation }, 'busy')).events).toHaveLength(1)
    expect(await sync('b1', { after: 99, generation: 'other' }, 'busy')).toEqual({
      events: [],
      after: 100,
      lastSeq: 100,
      generation,
      hasMore: false,
      reset: true,
    })
  })

  test('are visible only with the scope of their type', async () => {
    await world.workspace('filter', 'fay')
    await world.member('filter', 'fred', { scopes: ['team:read'] })
    await world.as('fay').call(updateWorkspace, { ...at('filter'), body: { name: 'One' } })
    await foreignEvents('filter', 'nobody.knows', 5)
    await foreignEvents('filter', 'stream.updated', 1)
    await world.as('fay').call(updateWorkspace, { ...at('filter'), body: { name: 'Two' } })
    const types = (page: { events: { seq: number; type: string }[] }) => page.events.map((row) => [row.seq, row.type])
    expect(types(await sync('fred', {}, 'filter'))).toEqual([
      [1, 'workspace.updated'],
      [8, 'workspace.updated'],
    ])
    expect(types(await sync('fay', {}, 'filter'))).toEqual([
      [1, 'workspace.updated'],
      [7, 'stream.updated'],
      [8, 'workspace.updated'],
    ])
  })

  test('page in bounded steps past thousands that the client cannot see', async () => {
    await world.workspace('crowd', 'carl')
    await foreignEvents('crowd', 'nobody.knows', 4_500)
    await world.as('carl').call(updateWorkspace, { ...at('crowd'), body: { name: 'At last' } })
    const steps: unknown[] = []
    let after = 0
    for (;;) {
      const page = await sync('carl', { after, limit: 10 }, 'crowd')
      steps.push([page.after, page.events.length, page.hasMore])
      after = page.after
      if (!page.hasMore) break
    }
    expect(steps).toEqual([
      [2_000, 0, true],
      [4_000, 0, true],
      [4_501, 1, false],
    ])
  })
})

describe('retention', () => {
  const prune = () => app.composition.services.workspaces.logRetention.prune(new AbortController().signal)

  test('deletes expired events and audit entries only', async () => {
    await world.workspace('old', 'otto')
    const id = world.id('old')
    const kept = async (table: string) =>
      (await app.database.row<{ n: number }>(`select count(*)::int as n from ${table} where workspace_id = $1`, [id]))
        ?.n
    await foreignEvents('old', 'old.event', 10)
    await app.database.run('update workspace_events set at = $2 where workspace_id = $1', [
      id,
      new Date(clock.now() - 91 * DAY),
    ])
    await app.database.run('update audit_log set created_at = $2 where workspace_id = $1', [
      id,
      new Date(clock.now() - 364 * DAY),
    ])
    const { lastSeq } = await sync('otto', {}, 'old')
    await prune()
    expect([await kept('workspace_events'), await kept('audit_log')]).toEqual([0, 1])
    // A client that has missed deleted events reloads everything. A client that has them continues.
    expect(await sync('otto', { after: lastSeq - 1 }, 'old')).toMatchObject({ events: [], reset: true, lastSeq })
    expect(await sync('otto', { after: lastSeq }, 'old')).toMatchObject({ events: [], reset: false, lastSeq })
    await world.as('otto').call(updateWorkspace, { ...at('old'), body: { name: 'Old' } })
    expect(await sync('otto', { after: lastSeq - 1 }, 'old')).toMatchObject({ reset: true })
    expect((await sync('otto', { after: lastSeq }, 'old')).events).toHaveLength(1)
    clock.advance(2 * DAY)
    await prune()
    expect([await kept('workspace_events'), await kept('audit_log')]).toEqual([1, 1])
  })
})
