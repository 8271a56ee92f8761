import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { Database } from './database.ts'
import { jsonArray } from './json-array.ts'

let made: TestDatabase
let database: Database

beforeAll(async () => {
  made = await createEmptyDatabase()
  database = await Database.connect({ url: made.url, poolSize: 1, entities: [], log: createLog({ level: 'silent' }) })
})

afterAll(async () => {
  await database.close()
  await made.drop()
})

test('PostgreSQL reads the texts as they are, in order', async () => {
  const values = [{ text: 'quotes " and \\, {braces}, commas', n: [1, null] }, 'Grüße 🎉 שלום', null, '', {}]
  const rows = await database.rows<{ value: unknown }>('select value from unnest($1::json[]) as value', [
    jsonArray(values.map((value) => JSON.stringify(value))),
  ])
  expect(rows.map(({ value }) => value)).toEqual(values)
})

test('an empty list has no elements', async () => {
  const row = await database.row('select cardinality($1::json[]) as count', [jsonArray([])])
  expect(row).toEqual({ count: 0 })
})

test('a text that is no JSON is refused', async () => {
  await expect(database.rows('select $1::json[]', [jsonArray(['{'])])).rejects.toThrow('invalid input syntax')
})
