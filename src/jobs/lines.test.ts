import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { systemClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import { Database } from '../db/database.ts'
import { CLAIM_FROM, FIRST_LINE, Lines } from './lines.ts'

interface Plan {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

const ROWS = 10_000
let made: TestDatabase
let database: Database

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 2, entities: [], log: createLog({ level: 'silent' }) })
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

/** A clock of whole milliseconds may be behind `now()`. */
const DUE = `now() - interval '1 second'`

/** Adds rows. @param line an SQL expression of `n`, the number of the row */
async function fill(rows: number, line: string, runAt: string): Promise<void> {
  await database.run(
    `insert into outbox (id, name, queue, line, data, state, run_at, attempts, added, created_at, updated_at)
     select gen_random_uuid(), 'test.heavy', 'media', (${line})::text::uuid, '{}', 'waiting', ${runAt}, 0, 0, now(), now()
     from generate_series(1, ${rows}) n`,
  )
}

const lineOf = (n: string) => `'00000000-0000-7000-8000-' || lpad((${n})::text, 12, '0')`

test.each([
  ['in one line', lineOf('1')],
  ['in ten thousand lines', lineOf('n')],
])('finds the next of ten thousand rows %s by a few index lookups', async (_whose, line) => {
  await database.run('truncate outbox')
  await fill(ROWS, line, `now() - n * interval '1 second'`)
  await database.run('analyze outbox')
  const row = await database.row<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (analyze, buffers, format json) ${CLAIM_FROM}`,
    ['media', FIRST_LINE, new Date(), 4, []],
  )
  const plan = row?.['QUERY PLAN'][0].Plan
  // Four rows are read and written, with their indexes. A scan of the table takes more blocks.
  expect((plan?.['Shared Hit Blocks'] ?? Infinity) + (plan?.['Shared Read Blocks'] ?? 0)).toBeLessThan(200)
})

test('serves lines round robin, and skips a line without due rows', async () => {
  await database.run('truncate outbox')
  await fill(6, lineOf('1'), `now() - interval '1 hour' + n * interval '1 second'`)
  await fill(2, lineOf('2'), `now() - interval '1 minute'`)
  await fill(5, lineOf('3'), `now() + interval '1 hour'`)
  const lines = new Lines(database, systemClock, { media: { concurrency: 9 } })
  const lineOfRow = async (id: string) =>
    (await database.row<{ line: string }>('select line from outbox where id = $1', [id]))?.line.at(-1)
  const claimed = await lines.claim()
  expect(await Promise.all(claimed.map(({ id }) => lineOfRow(id)))).toEqual(['1', '2', '1', '2'])
  expect(await lines.claim()).toEqual([])
  await database.run(`update outbox set state = 'running' where state = 'queued'`)
  expect(await Promise.all((await lines.claim()).map(({ id }) => lineOfRow(id)))).toEqual(['1', '1', '1', '1'])
})

test('serves the line of jobs without a workspace', async () => {
  await database.run('truncate outbox')
  await fill(2, `'${FIRST_LINE}'`, `now() - interval '1 hour'`)
  await fill(2, lineOf('1'), `now() - interval '1 hour'`)
  expect(await new Lines(database, systemClock, { media: { concurrency: 9 } }).claim()).toHaveLength(4)
})

test('leaves a worker to other lines, also while the jobs of a line run', async () => {
  await database.run('truncate outbox')
  await fill(9, lineOf('1'), `now() - interval '1 hour' + n * interval '1 second'`)
  const lines = new Lines(database, systemClock, { media: { concurrency: 3 } })
  expect(await lines.claim()).toHaveLength(2)
  await database.run(`update outbox set state = 'running' where state = 'queued'`)
  expect(await lines.claim()).toEqual([])
  await fill(1, lineOf('2'), DUE)
  expect(await lines.claim()).toHaveLength(1)
  await database.run(`delete from outbox where id = (select id from outbox where state = 'running' limit 1)`)
  expect(await lines.claim()).toHaveLength(1)
  // Another node has its own workers.
  await fill(2, lineOf('1'), DUE)
  expect(await new Lines(database, systemClock, { media: { concurrency: 3 } }).claim()).toHaveLength(2)
  // A node with a single worker serves all lines.
  await database.run('truncate outbox')
  await fill(2, lineOf('1'), DUE)
  expect(await new Lines(database, systemClock, { media: { concurrency: 1 } }).claim()).toHaveLength(2)
})
