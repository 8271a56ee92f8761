import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { startPgBouncer, type TestPgBouncer } from '../../test/support/pgbouncer.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { openPool } from './pool.ts'
import { sessionPool } from './session-pool.ts'

let database: TestDatabase
let pooler: TestPgBouncer | undefined

beforeAll(async () => {
  database = await createEmptyDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const name = new URL(database.url).pathname.slice(1)
  for (const setting of [`timezone = 'Asia/Tokyo'`, `datestyle = 'SQL, DMY'`, `statement_timeout = 0`]) {
    await client.query(`alter database ${name} set ${setting}`)
  }
  await client.end()
})
afterEach(async () => {
  await pooler?.stop()
  pooler = undefined
})
afterAll(() => database.drop())

const open = (url: string) => openPool({ url, poolSize: 2, log: createLog({ level: 'silent' }) })

const SHOWN = ['TimeZone', 'DateStyle', 'statement_timeout', 'idle_in_transaction_session_timeout', 'search_path']
const SETTINGS = `select ${SHOWN.map((name) => `current_setting('${name}') as "${name}"`).join(', ')}`

// A session that another client has changed, if the pooler resets nothing.
test.each([{}, { ignore_startup_parameters: 'options' }, { server_reset_query: '' }])(
  'has its settings through a pooler that keeps sessions, with %j',
  async (settings) => {
    pooler = await startPgBouncer(database.url, { pool_mode: 'session', ...settings })
    const jobs = sessionPool({ url: pooler.url, max: 1, settings: { search_path: 'bullmq' } })
    expect((await jobs.query('show search_path')).rows).toEqual([{ search_path: 'bullmq' }])
    await jobs.end()
    const pool = await open(pooler.url)
    expect((await pool.query(SETTINGS)).rows).toEqual([
      {
        TimeZone: 'UTC',
        DateStyle: 'ISO, MDY',
        statement_timeout: '15s',
        idle_in_transaction_session_timeout: '3s',
        search_path: '"$user", public',
      },
    ])
    await pool.end()
  },
)

test.each([
  { pool_mode: 'transaction' },
  { pool_mode: 'transaction', server_round_robin: '1' },
  { pool_mode: 'transaction', default_pool_size: '1' },
  { pool_mode: 'transaction', min_pool_size: '5' },
  { pool_mode: 'transaction', min_pool_size: '5', server_round_robin: '1' },
  { pool_mode: 'statement' },
])('refuses a pooler that shares sessions: %j', async (settings) => {
  pooler = await startPgBouncer(database.url, { ...settings, ignore_startup_parameters: 'options' })
  await expect(open(pooler.url)).rejects.toThrow('a pooler gives each transaction another session')
})

test('says which setting does not hold', async () => {
  // PostgreSQL reads and shows the value in another way, like a pooler that changes it.
  const pool = sessionPool({ url: database.url, max: 1, settings: { work_mem: '4096kB' } })
  await expect(pool.query('select 1')).rejects.toThrow(
    'the session has work_mem = "4MB" after Crier set it to "4096kB". A pooler changes sessions. Let each client keep',
  )
  await pool.end()
})
