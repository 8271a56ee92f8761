import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { openPool } from './pool.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

const open = (url: string) => openPool({ url, poolSize: 2, log: createLog({ level: 'silent' }) })

test('connects with UTC, and limits the time of statements', async () => {
  const pool = await open(database.url)
  const { rows } = await pool.query(
    `select current_setting('timezone') as zone, current_setting('statement_timeout') as most`,
  )
  expect(rows).toEqual([{ zone: 'UTC', most: '15s' }])
  await pool.end()
})

test('has its settings, whatever the URL says', async () => {
  const options = encodeURIComponent('-c timezone=America/New_York -c search_path=elsewhere')
  const pool = await open(`${database.url}?options=${options}&statement_timeout=0`)
  const { rows } = await pool.query(
    `select current_setting('timezone') as zone, current_setting('statement_timeout') as most, current_schema() as schema`,
  )
  expect(rows).toEqual([{ zone: 'UTC', most: '15s', schema: 'public' }])
  await pool.end()
})

test.each([
  ['sslmode=prefer', 'sslmode must be disable, require, verify-ca or verify-full, not prefer'],
  ['sslmode=verify-full&sslrootcert=/missing.crt', 'sslrootcert=/missing.crt cannot be read'],
])('says what is wrong with %s', async (parameters, message) => {
  await expect(open(`${database.url}?${parameters}`)).rejects.toThrow(message)
})

// Providers of databases give out such URLs, and MikroORM ignores the parameter.
test.each(['require', 'verify-full'])('never connects without TLS if the URL has sslmode=%s', async (mode) => {
  await expect(open(`${database.url}?sslmode=${mode}`)).rejects.toThrow('The server does not support SSL connections')
})
