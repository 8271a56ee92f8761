import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { startPgBouncer, type TestPgBouncer } from '../support/pgbouncer.ts'
import { PostWorld } from '../support/post-world.ts'
import { startApp } from '../support/app.ts'

// A pooler between, which drops what connections ask for, and a database whose own zone is far from UTC.
let database: TestDatabase
let pooler: TestPgBouncer
let sharing: TestPgBouncer
let world: PostWorld

beforeAll(async () => {
  database = await createDatabase()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(`alter database ${new URL(database.url).pathname.slice(1)} set timezone = 'Asia/Tokyo'`)
  await client.end()
  const settings = { ignore_startup_parameters: 'options', default_pool_size: '40' }
  pooler = await startPgBouncer(database.url, { pool_mode: 'session', ...settings })
  sharing = await startPgBouncer(database.url, { pool_mode: 'transaction', ...settings })
  world = await PostWorld.start('pooler', undefined, { DATABASE_URL: pooler.url })
})
afterAll(async () => {
  await world?.stop()
  await pooler.stop()
  await sharing.stop()
  await database.drop()
})

test('times are the same when they are read back, and jobs run', async () => {
  const targets = [{ accountId: await world.account() }]
  const scheduledFor = '2026-12-24T18:30:00.000Z'
  const { _id: id } = await world.create({ content: 'a post for the evening', targets, scheduledFor })
  expect(await world.get(id)).toMatchObject({ scheduledFor, createdAt: expect.stringMatching(/^2026-11-30T08:/) })
  const { _id: now } = await world.create({ content: 'a post through the pooler', targets, publishNow: true })
  await world.ended(now, 'published')
})

test('statements that run too long are cancelled', async () => {
  expect(await world.app.database.row(`select current_setting('statement_timeout') as most`)).toEqual({ most: '15s' })
})

test('a pooler that shares sessions is refused at the start, with the reason', async () => {
  await expect(startApp({ databaseUrl: sharing.url })).rejects.toThrow(
    /^DATABASE_URL: PostgreSQL at 127\.0\.0\.1:\d+ cannot be used: a pooler gives each transaction another session/,
  )
})
