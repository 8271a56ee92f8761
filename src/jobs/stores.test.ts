import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEmptyDatabase, serverUrl, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import { openStore, prepareStore } from './stores.ts'

let made: TestDatabase
let client: Client
beforeEach(async () => {
  made = await createEmptyDatabase()
  client = new Client({ connectionString: await serverUrl() })
  await client.connect()
})
afterEach(async () => {
  await client.end()
  await made.drop()
})

test('a database can be copied as soon as the tables of the queues are made', async () => {
  const name = new URL(made.url).pathname.slice(1)
  await prepareStore(made.url)
  // PostgreSQL refuses to copy a database that somebody is connected to.
  await client.query(`create database ${name}_copy template ${name}`)
  const copy = new Client({ connectionString: `${made.url}_copy` })
  await copy.connect()
  const { rows } = await copy.query(`select to_regnamespace('bullmq') is not null as prepared`)
  await copy.end()
  await client.query(`drop database ${name}_copy`)
  expect(rows).toEqual([{ prepared: true }])
})

test('the store of a new database makes its tables when it is opened', async () => {
  const noSql = {} as Sql
  const store = await openStore({ kind: 'postgres', url: made.url }, noSql, createLog({ level: 'silent' }))
  await store.close()
  const other = new Client({ connectionString: made.url })
  await other.connect()
  const { rows } = await other.query(`select count(*)::int > 0 as made from pg_tables where schemaname = 'bullmq'`)
  await other.end()
  expect(rows).toEqual([{ made: true }])
})
