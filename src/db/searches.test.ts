import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { waitFor } from '../../test/support/wait.ts'
import { createLog } from '../core/log.ts'
import { Database } from './database.ts'
import { Searches } from './searches.ts'

const CONNECTIONS = 5
let made: TestDatabase
let database: Database

beforeAll(async () => {
  made = await createDatabase()
  const log = createLog({ level: 'silent' })
  database = await Database.connect({ url: made.url, poolSize: CONNECTIONS, entities: [], log })
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

test('a search that takes too long is cancelled with advice on how to narrow it', async () => {
  const searches = new Searches(database, CONNECTIONS, 50)
  await expect(searches.run('acme', (sql) => sql.rows('select pg_sleep(60)'))).rejects.toMatchObject({
    code: 'search_too_broad',
    status: 422,
  })
  // The timeout applies to the transaction, not to the connection.
  expect(await database.row('show statement_timeout')).toEqual({ statement_timeout: '15s' })
})

test('searches leave connections for other requests, and one workspace leaves some for others', async () => {
  const searches = new Searches(database, CONNECTIONS)
  const release = Promise.withResolvers<void>()
  const started: string[] = []
  const run = (workspaceId: string) =>
    searches.run(workspaceId, async (sql) => {
      started.push(workspaceId)
      await release.promise
      return sql.rows('select 1')
    })
  const all = Array.from({ length: 10 }, () => run('acme'))
  await waitFor(() => started.length === 1, { what: 'the first search' })
  all.push(run('other'))
  await waitFor(() => started.length === 2, { what: 'the search of another workspace' })
  expect(started).toEqual(['acme', 'other'])
  expect(await database.row('select 1 as one')).toEqual({ one: 1 })
  release.resolve()
  await Promise.all(all)
  expect(started.filter((workspaceId) => workspaceId === 'acme')).toHaveLength(10)
})
