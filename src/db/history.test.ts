import type { ClientBase } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { DatabaseHistory, generation } from './history.ts'
import { openPool } from './pool.ts'
import { PreparedSql } from './prepared-sql.ts'
import { query } from './query.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const open = (history: DatabaseHistory, url = database.url) =>
  openPool({ url, poolSize: 3, log: createLog({ level: 'silent' }), history })

/** The servers that sessions reach, as if others took over. */
class Servers extends DatabaseHistory {
  now = 'first'
  override async read(): Promise<string> {
    return this.now
  }
}

const named = query({}, (db) => db.selectNoFrom(generation.as('generation')))

test('names the same history in all sessions of a server, and the tables', async () => {
  const history = new DatabaseHistory()
  const pool = await open(history)
  const clients = [await pool.connect(), await pool.connect()] as const
  const names = await Promise.all(clients.map((client) => named.row(new PreparedSql(client), {})))
  expect(names[0]?.generation).toMatch(/^[\da-f]{12}-\d+$/)
  expect(names[1]).toEqual(names[0])
  for (const client of clients) client.release()
  await pool.query('alter table actor_fence rename to old_fence')
  await pool.query('create table actor_fence (like old_fence)')
  expect(await named.row(new PreparedSql(pool), {})).not.toEqual(names[0])
  await pool.query('drop table actor_fence')
  await pool.query('alter table old_fence rename to actor_fence')
  await pool.end()
})

test('lends no session of a server that was replaced', async () => {
  const history = new Servers()
  const changes: string[] = []
  history.onChange(() => changes.push(history.now))
  const pool = await open(history)
  const [old, alsoOld] = [await pool.connect(), await pool.connect()]
  const closed = new Set<ClientBase>()
  pool.on('remove', (client) => closed.add(client))
  history.now = 'second'
  const fresh = await pool.connect()
  expect(changes).toEqual(['second'])
  for (const client of [old, alsoOld]) client.release()
  // The sessions that are idle are the old ones.
  const { rows } = await pool.query(`select current_setting('crier.history') as history`)
  expect(rows).toEqual([{ history: 'second' }])
  expect(await named.row(new PreparedSql(pool), {})).toMatchObject({ generation: expect.stringMatching(/^second-/) })
  const others = [await pool.connect(), await pool.connect()]
  expect(closed).toEqual(new Set([old, alsoOld]))
  for (const client of [fresh, ...others]) client.release()
  expect(changes).toEqual(['second'])
  await pool.end()
})

test('connects again when the last session was lost', async () => {
  const history = new Servers()
  const changed = new Promise<void>((resolve) => history.onChange(resolve))
  const pool = await open(history)
  const desk = await openPool({ url: database.url, poolSize: 2, log: createLog({ level: 'silent' }) })
  history.now = 'second'
  const others = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()'
  const mine = (await desk.query<{ pid: number }>(`select pg_backend_pid() as pid`)).rows[0]?.pid
  await desk.query(`${others} and pid <> ${mine}`)
  await changed
  await Promise.all([pool.end(), desk.end()])
})

test('does without it if the provider closes the functions', async () => {
  const desk = await openPool({ url: database.url, poolSize: 2, log: createLog({ level: 'silent' }) })
  await desk.query(`create role plain_${process.pid} login password 'plain'`)
  const url = new URL(database.url)
  url.username = `plain_${process.pid}`
  url.password = 'plain'
  const history = async () => {
    const pool = await open(new DatabaseHistory(), url.href)
    const { rows } = await pool.query<{ history: string }>(`select current_setting('crier.history') as history`)
    await pool.end()
    return rows[0]?.history
  }
  expect(await history()).toMatch(/^[\da-f]{12}$/)
  await desk.query('revoke execute on function pg_control_system from public')
  expect(await history()).toBe('unknown')
  await desk.query(`drop role plain_${process.pid}`)
  await desk.end()
})
