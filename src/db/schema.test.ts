import { afterEach, expect, test } from 'vitest'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { entities } from '../registry/entities.ts'
import { Database } from './database.ts'
import { migrations } from './migrations/index.ts'

const ends: (() => Promise<void>)[] = []

async function connect(made: TestDatabase): Promise<Database> {
  const database = await Database.connect({ url: made.url, poolSize: 2, entities, log: createLog({ level: 'silent' }) })
  ends.push(() => database.close())
  return database
}

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

test('the migrations create the schema of the entities', async () => {
  const made = await createDatabase()
  ends.push(() => made.drop())
  expect(await (await connect(made)).drift()).toBe('')
})

test('nodes that start together migrate once', async () => {
  const made = await createEmptyDatabase()
  ends.push(() => made.drop())
  const nodes = await Promise.all([connect(made), connect(made), connect(made)])
  const ran = await Promise.all(nodes.map((node) => node.migrate()))
  const all = migrations.map(({ name }) => name)
  expect(ran.map((report) => report.ran).toSorted((a, b) => b.length - a.length)).toEqual([all, [], []])
  expect(ran.filter((report) => report.wasEmpty)).toHaveLength(1)
})

test('a version refuses a schema that a newer version has migrated', async () => {
  const made = await createDatabase()
  ends.push(() => made.drop())
  const database = await connect(made)
  await database.run(`insert into migrations (name, executed_at) values ('9999-from-the-future', now())`)
  await expect(database.migrate()).rejects.toThrow(/newer version of Crier \(9999-from-the-future\)/)
})

test('the database of a development version is refused with instructions', async () => {
  const made = await createEmptyDatabase()
  ends.push(() => made.drop())
  const database = await connect(made)
  await database.migrate()
  await database.run(`update migrations set name = '0001-foundation'`)
  await expect(database.migrate()).rejects.toThrow(/development version before 0\.1\.0.*empty DATA_DIR/)
})

test('an index leads with each foreign key that follows a deletion, so that it reads no other rows', async () => {
  const made = await createDatabase()
  ends.push(() => made.drop())
  const database = await connect(made)
  const rows = await database.rows<{ key: string }>(`
    select c.conrelid::regclass || ' (' || a.attname || ')' as key
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confdeltype in ('c', 'n') and c.conparentid = 0
      and c.connamespace = 'public'::regnamespace and not exists (
      select 1 from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1]
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = '(' || a.attname || ' IS NOT NULL)'))
    order by 1`)
  expect(rows.map(({ key }) => key)).toEqual([])
})
