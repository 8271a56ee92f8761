import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { freeLoopbackPort } from '../setup/free-port.ts'
import { startPgBouncer, type TestPgBouncer } from '../../test/support/pgbouncer.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { openPool } from './pool.ts'

let database: TestDatabase
let readOnly: TestPgBouncer
let silent: Server

beforeAll(async () => {
  database = await createEmptyDatabase()
  readOnly = await startPgBouncer(
    database.url,
    // What the query sets must stay for the next client.
    { pool_mode: 'session', server_reset_query: '' },
    'set session characteristics as transaction read only',
  )
  silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
})
afterAll(async () => {
  silent.close()
  await readOnly.stop()
  await database.drop()
})

const hostOf = (url: string) => new URL(url).host
/** The URL of the database with other servers. */
const at = (...hosts: string[]) =>
  database.url.replace(hostOf(database.url), hosts.join(',')) + '?target_session_attrs=read-write'
const open = (url: string) => openPool({ url, poolSize: 2, log: createLog({ level: 'silent' }) })

test('connects to the server that accepts writes, past those that are down, silent or read-only', async () => {
  const down = `127.0.0.1:${await freeLoopbackPort()}`
  const { port } = silent.address() as AddressInfo
  const pool = await open(at(down, `127.0.0.1:${port}`, hostOf(readOnly.url), hostOf(database.url)))
  await pool.query('create table written (id int)')
  // A second connection at the same time, which asks the last good server first.
  const clients = await Promise.all([pool.connect(), pool.connect()])
  const { rows } = await clients[1].query<{ only: string }>(`select current_setting('transaction_read_only') as only`)
  expect(rows).toEqual([{ only: 'off' }])
  for (const client of clients) client.release()
  await pool.end()
})

test('names every server that it tried', async () => {
  const down = `127.0.0.1:${await freeLoopbackPort()}`
  const error: Error = await open(at(down, hostOf(readOnly.url))).then(
    () => expect.unreachable(),
    (reason: Error) => reason,
  )
  expect(error.message).toContain(`${down} failed (connect ECONNREFUSED ${down})`)
  expect(error.message).toContain(`${hostOf(readOnly.url)} is read-only`)
})
