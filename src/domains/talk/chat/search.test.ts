import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import type { Member } from '../../../core/caller.ts'
import { pageRequest } from '../../../core/page.ts'
import { createLog } from '../../../core/log.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'
import { Database } from '../../../db/database.ts'
import type { Searches } from '../../../db/searches.ts'
import { entities } from '../../../registry/entities.ts'
import { ChatSearch, snippetOf } from './search.ts'

interface Plan {
  readonly 'Node Type': string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** Blocks of the index's pending list, which every search reads: at most 512 kB. */
const PENDING_BLOCKS = 64
const ADA = '01939c5e-7a3b-7c21-9f58-000000000001'
const BOB = '01939c5e-7a3b-7c21-9f58-000000000002'
const EMPTY = '01939c5e-7a3b-7c21-9f58-00000000000a'
const BUSY = '01939c5e-7a3b-7c21-9f58-00000000000b'
const OTHER = '01939c5e-7a3b-7c21-9f58-00000000000c'

let made: TestDatabase
let database: Database
const plans: Plan[] = []

beforeAll(async () => {
  made = await createDatabase()
  database = await Database.connect({ url: made.url, poolSize: 2, entities, log: createLog({ level: 'silent' }) })
  await database.run(
    `insert into users (id, email, name, created_at, updated_at)
     select id, id || '@example.com', 'Somebody', now(), now() from unnest($1::uuid[]) id`,
    [[ADA, BOB]],
  )
  for (const workspaceId of [EMPTY, BUSY, OTHER]) {
    await database.run(
      `insert into workspaces (id, name, owner_id, timezone, created_at, updated_at) values ($1, 'Some', $2, 'UTC', now(), now())`,
      [workspaceId, ADA],
    )
    await database.run(
      `insert into channels (id, workspace_id, kind, name, created_at, updated_at) values ($1, $1, 'channel', 'all', now(), now())`,
      [workspaceId],
    )
  }
  await say(OTHER, 12_000, `'a heron and a heronry, message ' || n`, ADA)
  await say(BUSY, 6_000, `case when n % 1000 = 0 then 'a rare heron ' || n else 'the usual report ' || n end`, ADA)
  await say(BUSY, 1, `'the usual report, once by somebody else'`, BOB)
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})

/** Adds messages to a channel, each older than the one before. @param body an SQL expression of `n`, which starts at 1 */
async function say(workspaceId: string, count: number, body: string, authorId: string): Promise<void> {
  await database.run(
    `insert into chat_messages (id, channel_id, workspace_id, seq, author_id, body, created_at)
     select gen_random_uuid(), $1, $1, coalesce(top, 0) + n, $2, ${body}, '2026-11-01'::timestamptz - (coalesce(top, 0) + n) * interval '1 second'
     from generate_series(1, ${count}) n, (select max(seq) as top from chat_messages where channel_id = $1) highest`,
    [workspaceId, authorId],
  )
}

/** Records the executed plan of every statement. */
function explaining(sql: Sql): Sql {
  const explain = async (text: string, values?: readonly SqlValue[]) => {
    if (text.includes('set_config')) return
    const row = await sql.row<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    )
    if (row) plans.push(row['QUERY PLAN'][0].Plan)
  }
  return {
    rows: async (text, values) => {
      await explain(text, values)
      return sql.rows(text, values)
    },
    row: async (text, values) => {
      await explain(text, values)
      return sql.row(text, values)
    },
    run: (text, values) => sql.run(text, values),
  }
}

const searches: Pick<Searches, 'run'> = {
  run: (_workspaceId, search) => database.transaction((tx) => search(explaining(tx))),
}
const search = new ChatSearch(searches as Searches)

async function find(workspaceId: string, query: { q: string; from?: string[]; cursor?: string; limit?: number }) {
  plans.length = 0
  return search.find({ workspaceId, userId: ADA } as Member, query, pageRequest(query))
}

const nodesOf = (plan: Plan): string[] => [plan['Node Type'], ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Blocks that the statements of the last search touched, in total. */
function blocks(): number {
  expect(plans.flatMap(nodesOf)).not.toContain('Seq Scan')
  return plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0)
}

test.each(['heron', 'her', 'h', 'nowhere', 'message'])(
  'a search for %s in an empty workspace does not read messages of other workspaces',
  async (q) => {
    expect((await find(EMPTY, { q })).items).toEqual([])
    // Two statements: each reads the pending list and descends the index once.
    expect(blocks()).toBeLessThan(2 * (PENDING_BLOCKS + 20))
  },
)

test.each([false, true])(
  'a search without results stays cheap among many messages (analyzed: %s)',
  async (analyzed) => {
    // Statistics must not change the plan.
    if (analyzed) await database.run('analyze')
    for (const q of ['nowhere', 'now']) {
      expect((await find(OTHER, { q })).items).toEqual([])
      expect(blocks()).toBeLessThan(2 * (PENDING_BLOCKS + 20))
    }
  },
)

test('finds a rare word among many messages at low cost', async () => {
  const { items, nextCursor } = await find(BUSY, { q: 'heron', limit: 4 })
  expect(items.map(({ body }) => body)).toEqual([1, 2, 3, 4].map((n) => `a rare heron ${n}000`))
  expect(blocks()).toBeLessThan(2 * (PENDING_BLOCKS + 60))
  const rest = await find(BUSY, { q: 'heron', limit: 4, cursor: nextCursor ?? '' })
  expect([rest.items.length, rest.nextCursor]).toEqual([2, null])
})

test('finds a frequent word by reading the newest messages, and continues on the next page', async () => {
  const first = await find(BUSY, { q: 'usual rep', limit: 3 })
  expect(first.items.map(({ body }) => body)).toEqual([1, 2, 3].map((n) => `the usual report ${n}`))
  // The first plan counts the matches.
  expect(nodesOf(plans[1]!)).toContain('Index Scan')
  expect(nodesOf(plans[1]!)).not.toContain('Bitmap Heap Scan')
  const second = await find(BUSY, { q: 'usual rep', limit: 3, cursor: first.nextCursor ?? '' })
  expect(second.items.map(({ body }) => body)).toEqual([4, 5, 6].map((n) => `the usual report ${n}`))
})

test('returns a cursor when a search reaches its limit of messages read', async () => {
  const first = await find(BUSY, { q: 'usual', from: [BOB] })
  expect(first.items).toEqual([])
  expect(first.nextCursor).not.toBeNull()
  const second = await find(BUSY, { q: 'usual', from: [BOB], cursor: first.nextCursor ?? '' })
  expect(second.items).toMatchObject([{ body: 'the usual report, once by somebody else', author: BOB }])
  expect(second.nextCursor).toBeNull()
})

test('continues with the message after the last one that it has read', async () => {
  const places = [5_000, 5_001]
  await database.run('update chat_messages set author_id = $2 where channel_id = $1 and seq = any($3::bigint[])', [
    OTHER,
    BOB,
    places,
  ])
  const pages: number[][] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await find(OTHER, { q: 'heron', from: [BOB], ...(cursor && { cursor }) })
    pages.push(page.items.map(({ seq }) => seq))
    cursor = page.nextCursor
  }
  expect(pages).toEqual([[5_000], [5_001], []])
})

test('accepts query syntax as text, and words too long for the index', async () => {
  const long = 'x'.repeat(3_000)
  await say(EMPTY, 1, `'${'y'.repeat(2_030)} ${long} it''s back\\slash c''est'`, ADA)
  expect((await find(EMPTY, { q: `it's back\\slash c'e` })).items).toHaveLength(1)
  expect((await find(EMPTY, { q: 'y'.repeat(200) })).items).toHaveLength(1)
  expect((await find(EMPTY, { q: `' & | !( <-> :*` })).items).toEqual([])
})

test('a search without words, or with more than ten, is bounded', async () => {
  expect(await find(BUSY, { q: ' & !' })).toEqual({ items: [], limit: 30, nextCursor: null })
  const words = Array.from({ length: 10 }, () => 'rare').join(' ')
  expect((await find(BUSY, { q: `${words} nowhere` })).items).toHaveLength(6)
  expect((await find(BUSY, { q: `nowhere ${words}` })).items).toEqual([])
})

describe('the snippet of a message', () => {
  const x = (count: number) => 'x'.repeat(count)

  test('is the whole text if the match is near its start and its end', () => {
    expect(snippetOf('A heron & herons', ['heron'])).toBe('A <mark>heron</mark> &amp; <mark>herons</mark>')
    expect(snippetOf(`<"it's">`, ['nothing'])).toBe(`&lt;&quot;it's&quot;&gt;`)
    expect(snippetOf(`${x(59)} heron`, ['heron'])).toBe(`${x(59)} <mark>heron</mark>`)
    expect(snippetOf(`heron ${x(174)}`, ['heron'])).toBe(`<mark>heron</mark> ${x(174)}`)
  })

  test('is cut 60 characters before its first match and 180 after it', () => {
    expect(snippetOf(`${x(60)} heron`, ['heron'])).toBe(`…${x(59)} <mark>heron</mark>`)
    expect(snippetOf(`heron ${x(175)}`, ['heron'])).toBe(`<mark>heron</mark> ${x(174)}…`)
    const both = snippetOf(`${x(100)} heron ${x(200)} heron`, ['heron'])
    expect(both).toBe(`…${x(59)} <mark>heron</mark> ${x(174)}…`)
  })

  test('begins with the text if nothing matches', () => {
    expect(snippetOf(x(200), ['heron'])).toBe(`${x(180)}…`)
    expect(snippetOf(x(180), ['heron'])).toBe(x(180))
  })

  test('takes signs in words literally, and marks whole words only', () => {
    expect(snippetOf('a.b axb a.bc 1a.b', ['a.b'])).toBe('<mark>a.b</mark> axb <mark>a.bc</mark> 1a.b')
    expect(snippetOf('c++ (x)', ['c++', '(x)'])).toBe('<mark>c++</mark> <mark>(x)</mark>')
  })
})
