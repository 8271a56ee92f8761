import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk } from '../../src/core/operation.ts'
import { startApp, type App } from '../support/app.ts'
import { lists } from '../support/fixtures.ts'
import type { Stage } from '../support/stage.ts'
import { stageExample } from '../support/matrix.ts'
import { World } from '../support/world.ts'

/** Reads every list page by page, following `nextCursor` until it is null. */

const LIMIT = 2
const operations = walk(api)
const paged = operations
  .filter((op) => 'cursor' in ((op.query as { properties?: object } | undefined)?.properties ?? {}))
  // Its entries are times and not resources. Its own test turns the pages.
  .filter(({ name }) => name !== 'getCalendar')
let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('owner', { plan: 'business' })
  await world.user('admin', { admin: true })
  await world.workspace('acme', 'owner')
})
afterAll(() => app?.stop())

test('every paginated list takes a cursor', () => {
  const withPages = operations.filter((op) => {
    const reply = (op.returns as Record<number, { properties?: object } | null>)[200]
    return 'pagination' in (reply?.properties ?? {})
  })
  // A workspace has at most 50 custom roles, which fit on one page.
  expect(withPages.map(({ name }) => name).filter((name) => name !== 'listRoles')).toEqual(
    paged.map(({ name }) => name),
  )
  expect(Object.keys(lists).sort()).toEqual(paged.map(({ name }) => name).sort())
})

describe.each(paged.map((op) => [op.name, op] as const))('%s', (name, op) => {
  test('returns every row once, and ends with no next page', async () => {
    const owner = await world.user('owner')
    const caller = op.access === 'admin' ? await world.user('admin') : owner
    const stage: Stage = { app, workspaceId: world.id('acme'), owner, caller }
    const { send } = await stageExample(op, stage)
    const { as, path, query } = (await lists[name]?.(stage, 3 * LIMIT)) ?? {}
    // Leave out the filters of the example.
    const workspaceId = send.query?.['workspaceId']
    const pages: string[][] = []
    for (let cursor: string | null | undefined; cursor !== null && pages.length < 100;) {
      const reply = await app.send(op.route as string, {
        ...send,
        ...as,
        path: { ...send.path, ...path },
        query: { ...(workspaceId !== undefined && { workspaceId }), ...query, limit: LIMIT, ...(cursor && { cursor }) },
      })
      expect(reply.status, reply.text).toBe(200)
      const { hasMore, limit, nextCursor } = reply.body.pagination
      expect([limit, hasMore]).toEqual([LIMIT, nextCursor !== null])
      const ids = (reply.body.data as { _id: string }[]).map(({ _id }) => _id)
      if (hasMore) expect(ids).toHaveLength(LIMIT)
      pages.push(ids)
      cursor = nextCursor as string | null
    }
    const all = pages.flat()
    expect(all.length).toBeGreaterThanOrEqual(3 * LIMIT)
    expect(new Set(all).size).toBe(all.length)
  })

  test('rejects a cursor it did not issue', async () => {
    const owner = await world.user('owner')
    const caller = op.access === 'admin' ? await world.user('admin') : owner
    const { send } = await stageExample(op, { app, workspaceId: world.id('acme'), owner, caller })
    const { before: _before, ...query } = send.query ?? {}
    const reply = await app.send(op.route as string, { ...send, query: { ...query, cursor: 'AAAA' } })
    expect([reply.status, reply.body.errors?.[0]?.path], reply.text).toEqual([400, '/query/cursor'])
  })
})
