import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { Database } from '../db/database.ts'
import { keyOf } from '../domains/identity/data-rights/owned-rows.ts'
import { personalData } from './personal.ts'

let made: TestDatabase
let database: Database

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 1, entities: [], log: createLog({ level: 'silent' }) })
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

/** The columns of each index of a table, in order. Partial indexes count if they only leave out rows without a person. */
async function indexesOf(table: string, column: string): Promise<string[][]> {
  const rows = await database.rows<{ columns: string[] }>(
    `select array(select a.attname::text from unnest(i.indkey::smallint[]) with ordinality k (number, place)
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number order by k.place) as columns
     from pg_index i where i.indrelid = $1::regclass
       and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', $2::text))`,
    [table, column],
  )
  return rows.map(({ columns }) => columns)
}

/** What is read or deleted by the person. */
const used = Object.entries(personalData).filter(
  ([, { deletion, export: rows }]) => 'file' in rows || deletion === 'deleted',
)

// An export and a deletion read the rows of one person. Without these indexes, they read the rows of everybody.
test.each(used)('the rows of a person are found and paged by an index: %s', async (name, personal) => {
  const [table = '', column = ''] = name.split('.')
  const key = 'file' in personal.export ? keyOf(personal.export) : []
  const pages = personal.through === undefined ? key.filter((part) => part !== column) : []
  const needed = [column, ...pages]
  const found = await indexesOf(table, column)
  const serves = found.some((columns) => needed.every((part, place) => columns[place] === part))
  expect(serves, `add an index on ${table} (${needed.join(', ')}) to ${JSON.stringify(found)}`).toBe(true)
  if (personal.through === undefined) return
  const [owners = '', owner = ''] = personal.through.split('.')
  const ofOwner = await indexesOf(owners, owner)
  expect(
    ofOwner.map(([first]) => first),
    `add an index on ${personal.through}`,
  ).toContain(owner)
})
