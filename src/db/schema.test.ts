import { afterEach, expect, test } from 'vitest'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { entities } from '../entities.ts'
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

test('the migrations lead to what the entities say', async () => {
  const made = await createDatabase()
  ends.push(() => made.drop())
  expect(await (await connect(made)).drift()).toBe('')
})

test('nodes that start together migrate once', async () => {
  const made = await createEmptyDatabase()
  ends.push(() => made.drop())
  const nodes = await Promise.all([connect(made), connect(made), connect(made)])
  const ran = await Promise.all(nodes.map((node) => node.migrate()))
  expect(ran.toSorted((a, b) => b.length - a.length)).toEqual([migrations.map(({ name }) => name), [], []])
})
