import { defineEntity, p } from '@mikro-orm/postgresql'
import { sql as rawSql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { createLog } from '../core/log.ts'
import { uuidv7 } from '../tools/id.ts'
import { anyOf, atLeast, atMost, greaterThan, not, sameText } from './condition.ts'
import { references, referencesByColumns, timestamp } from './columns.ts'
import { Database } from './database.ts'
import { increment } from './increment.ts'
import { isUniqueViolation } from './prepared-sql.ts'
import { query } from './query.ts'
import type { Row } from './row.ts'
import { table } from './table.ts'

const Shelf = defineEntity({
  name: 'Shelf',
  tableName: 'shelves',
  properties: { id: p.uuid().primary(), name: p.text().unique('shelves_name_key') },
})

const Book = defineEntity({
  name: 'Book',
  tableName: 'books',
  properties: {
    id: p.uuid().primary(),
    shelfId: references(Shelf, { name: 'books_shelf_id_fkey', onDelete: 'cascade' }),
    title: p.text(),
    status: p.text().$type<'open' | 'lent'>().default('open'),
    tags: p.array().columnType('text[]').defaultRaw(`'{}'`),
    facts: p.json<{ pages: number } | string[]>().nullable(),
    lentAt: timestamp().nullable(),
    version: p.integer().default(1),
    bytes: p.bigint('number').default(0),
    createdAt: timestamp(),
  },
})

const Copy = defineEntity({
  name: 'Copy',
  tableName: 'copies',
  properties: {
    bookId: references(Book, { name: 'copies_book_id_fkey', onDelete: 'cascade' }).primary(),
    number: p.integer().primary(),
  },
})

const Loan = defineEntity({
  name: 'Loan',
  tableName: 'loans',
  properties: {
    id: p.uuid().primary(),
    bookId: p.uuid(),
    number: p.integer(),
    copy: referencesByColumns(Copy, ['book_id', 'number'], { name: 'loans_copy_fkey', onDelete: 'cascade' }),
  },
})

const shelves = table(Shelf)
const books = table(Book)
const copies = table(Copy)
const loans = table(Loan)

let made: TestDatabase
let database: Database
let shelfId: string

beforeAll(async () => {
  made = await createEmptyDatabase()
  database = await Database.connect({
    url: made.url,
    poolSize: 2,
    entities: [Shelf, Book, Copy, Loan],
    log: createLog({ level: 'silent' }),
  })
  for (const statement of (await database.drift()).split(';').filter((text) => text.trim() !== '')) {
    await database.run(statement)
  }
})
afterAll(async () => {
  await database?.close()
  await made?.drop()
})
beforeEach(async () => {
  await database.run('delete from shelves')
  shelfId = id()
  await shelves.insert(database, { id: shelfId, name: `shelf ${shelfId}` })
})

let now = Date.parse('2026-11-22T10:00:00Z')
const id = () => uuidv7((now += 1_000))
const book = (title: string, more: Partial<Omit<Row<typeof Book>, 'createdAt'>> = {}) => ({
  id: id(),
  shelfId,
  title,
  createdAt: new Date(now),
  ...more,
})

test('the entity matches the schema', async () => {
  expect(await database.drift()).toBe('')
})

test('a row is read back as it was written', async () => {
  const row = book('Emma', { tags: ['novel'], facts: ['a', 'b'], lentAt: '2026-01-02T03:04:05.678Z' })
  await books.insert(database, row)
  expect(await books.first(database, { id: row.id })).toEqual({
    ...row,
    status: 'open',
    version: 1,
    bytes: 0,
    createdAt: row.createdAt.toISOString(),
  })
  await books.update(database, { id: row.id }, { facts: { pages: 3 }, tags: [], lentAt: null })
  expect(await books.first(database, { id: row.id }, { columns: ['facts', 'tags', 'lentAt'] })).toEqual({
    facts: { pages: 3 },
    tags: [],
    lentAt: null,
  })
})

test('rows are found by every kind of condition', async () => {
  const lent = { status: 'lent', lentAt: '2026-02-01T00:00:00.000Z' } as const
  const open = { status: 'open', lentAt: null } as const
  const rows = [book('Emma', open), book('Ulysses', lent), book('Walden', open)]
  expect(await books.insertAll(database, rows)).toBe(3)
  const titles = async (where: Parameters<typeof books.find>[1]) =>
    (await books.find(database, where, { columns: ['title'], orderBy: ['title asc'] })).map(({ title }) => title)
  expect(await titles({})).toEqual(['Emma', 'Ulysses', 'Walden'])
  expect(await titles({ status: 'open', shelfId })).toEqual(['Emma', 'Walden'])
  expect(await titles({ status: not('open') })).toEqual(['Ulysses'])
  expect(await titles({ lentAt: null })).toEqual(['Emma', 'Walden'])
  expect(await titles({ lentAt: not(null) })).toEqual(['Ulysses'])
  expect(await titles({ title: anyOf(['Emma', 'Walden', 'Moby-Dick']) })).toEqual(['Emma', 'Walden'])
  expect(await titles({ title: anyOf<string>([]) })).toEqual([])
  expect(await titles({ title: sameText('eMMa') })).toEqual(['Emma'])
  expect(await titles({ createdAt: atLeast(rows[1]?.createdAt ?? new Date()) })).toEqual(['Ulysses', 'Walden'])
  expect(await titles({ title: greaterThan('Emma') })).toEqual(['Ulysses', 'Walden'])
  expect(await titles({ title: atMost('Ulysses') })).toEqual(['Emma', 'Ulysses'])
  expect(await books.count(database, { status: 'open' })).toBe(2)
  expect(await books.exists(database, { title: 'Emma' })).toBe(true)
  expect(await books.exists(database, { title: 'Persuasion' })).toBe(false)
})

test('a page continues after the last row of the previous page', async () => {
  const rows = Array.from({ length: 5 }, (_, index) => book(`volume ${index + 1}`))
  await books.insertAll(database, rows)
  const first = await books.page(database, { shelfId }, { limit: 2, after: undefined }, ['id', 'title'])
  expect(first.map(({ title }) => title)).toEqual(['volume 5', 'volume 4', 'volume 3'])
  const after = { id: first[1]?.id ?? '', createdAt: '' }
  const next = await books.page(database, { shelfId }, { limit: 5, after }, ['title'])
  expect(next.map(({ title }) => title)).toEqual(['volume 3', 'volume 2', 'volume 1'])
})

test('updates can increment and return rows, and upserts change existing rows', async () => {
  const row = book('Emma')
  await books.insert(database, row)
  expect(await books.update(database, { id: row.id, version: 1 }, { version: increment(), bytes: increment(5) })).toBe(
    1,
  )
  expect(await books.update(database, { id: row.id, version: 1 }, { title: 'Other' })).toBe(0)
  const [changed] = await books.updateReturning(database, { id: row.id }, { title: 'Emma (1815)' })
  expect(changed).toMatchObject({ title: 'Emma (1815)', version: 2, bytes: 5, shelfId })
  await books.upsert(database, { ...row, title: 'Emma II', status: 'lent' }, ['id'], ['title'])
  expect(await books.first(database, { id: row.id })).toMatchObject({ title: 'Emma II', status: 'open' })
  expect(await books.insert(database, row, { ignoreConflict: true })).toBe(0)
  await expect(shelves.insert(database, { id: id(), name: `shelf ${shelfId}` })).rejects.toSatisfy((error) =>
    isUniqueViolation(error, 'shelves_name_key'),
  )
  const other = book('Ulysses')
  await books.insert(database, other)
  expect(await books.deleteReturning(database, { id: other.id }, ['title'])).toEqual([{ title: 'Ulysses' }])
  expect(await books.deleteReturning(database, { id: row.id })).toMatchObject([{ id: row.id, shelfId }])
  expect(await books.delete(database, { id: row.id })).toBe(0)
})

test('some of the matching rows are deleted, without those that are locked', async () => {
  await books.insertAll(database, [book('Emma'), book('Emma'), book('Emma'), book('Ulysses')])
  await database.transaction(async (tx) => {
    await books.first(tx, { title: 'Emma' }, { lock: 'for update' })
    expect(await books.deleteSome(database, { title: 'Emma' }, 1, ['title'])).toEqual([{ title: 'Emma' }])
    expect(await books.deleteSome(database, { title: 'Emma' }, 9, ['title'])).toEqual([{ title: 'Emma' }])
    expect(await books.deleteSome(database, { title: 'Emma' }, 9, ['title'])).toEqual([])
  })
  expect(await books.count(database, {})).toBe(2)
  await expect(async () => books.deleteSome(database, {}, 9, ['id'])).rejects.toThrow('without a condition')
})

test('rows that are inserted together must have the same properties', async () => {
  const rows = [book('Emma'), book('Ulysses', { status: 'lent' })]
  await expect(async () => books.insertAll(database, rows)).rejects.toThrow('different properties')
  const same = [book('Emma'), book('Emma')]
  expect(await books.insertAll(database, same.slice(0, 1))).toBe(1)
  expect(await books.insertAll(database, same, { ignoreConflict: true })).toBe(1)
})

test('undefined values are left out of rows and changes', async () => {
  const row = book('Emma')
  await books.insertAll(database, [{ ...row, status: undefined, lentAt: undefined }])
  await books.insert(database, { ...book('Ulysses'), status: undefined })
  await books.update(database, { id: row.id }, { title: undefined, version: 2 })
  expect(await books.find(database, {}, { columns: ['title', 'status', 'version'], orderBy: ['title asc'] })).toEqual([
    { title: 'Emma', status: 'open', version: 2 },
    { title: 'Ulysses', status: 'open', version: 1 },
  ])
})

test('a foreign key prevents orphaned rows', async () => {
  await books.insert(database, book('Emma'))
  await shelves.delete(database, { id: shelfId })
  expect(await books.count(database, {})).toBe(0)
  await expect(books.insert(database, book('Emma'))).rejects.toThrow(/books_shelf_id_fkey/)
})

test('a reference of several columns has a property for each column', async () => {
  const { id: bookId, ...rest } = book('Emma')
  await books.insert(database, { id: bookId, ...rest })
  await copies.insert(database, { bookId, number: 1 })
  const loan = { id: id(), bookId, number: 1 }
  await loans.insert(database, loan)
  expect(await loans.find(database, {})).toEqual([loan])
  await expect(loans.insert(database, { ...loan, id: id(), number: 2 })).rejects.toThrow(/loans_copy_fkey/)
  await copies.delete(database, { bookId, number: 1 })
  expect(await loans.count(database, {})).toBe(0)
})

test('a row read as JSON equals a row read as columns', async () => {
  const { id: bookId, ...rest } = book('Emma', { tags: ['novel'], lentAt: '2026-01-02T03:04:05.678Z' })
  await books.insert(database, { id: bookId, ...rest })
  const read = await database.row<{ json: Record<string, unknown> }>(
    'select to_json(b) as json from books b where id = $1',
    [bookId],
  )
  const row = books.fromColumns({ ...read?.json, other: 1 })
  expect(row).toEqual(await books.first(database, { id: bookId }))
})

test('an undefined filter is an error and never matches every row', async () => {
  const lost: { id?: string } = { id: undefined as never }
  await expect(async () => books.find(database, lost)).rejects.toThrow('the condition on id is undefined')
  await expect(async () => books.delete(database, lost)).rejects.toThrow('the condition on id is undefined')
  await expect(async () => books.delete(database, {})).rejects.toThrow('delete of books without a condition')
  await expect(async () => books.update(database, {}, { title: 'x' })).rejects.toThrow('without a condition')
  await expect(async () => books.update(database, { id: shelfId }, {})).rejects.toThrow('changes nothing')
})

describe('query', () => {
  const onShelf = query({ shelves, books }, (db, $: { name: string; status?: 'open' | 'lent' }) => {
    const found = db
      .selectFrom('books')
      .innerJoin('shelves', 'shelves.id', 'books.shelfId')
      .select(['books.id', 'books.createdAt', 'shelves.name as shelfName'])
      .select((e) =>
        e
          .selectFrom('books as other')
          .select((c) => c.fn.countAll<number>().as('n'))
          .as('bookCount'),
      )
      .where('shelves.name', '=', $.name)
      .orderBy('books.createdAt', 'desc')
    return $.status === undefined ? found : found.where('books.status', '=', $.status)
  })

  test('joins tables and omits absent filters', async () => {
    const [emma, ulysses] = [book('Emma'), book('Ulysses', { status: 'lent' })]
    await books.insertAll(database, [emma])
    await books.insertAll(database, [ulysses])
    const name = `shelf ${shelfId}`
    const all = await onShelf.rows(database, { name })
    expectTypeOf(all).toEqualTypeOf<{ id: string; createdAt: string; shelfName: string; bookCount: number | null }[]>()
    expect(all).toEqual([
      { id: ulysses.id, createdAt: ulysses.createdAt.toISOString(), shelfName: name, bookCount: 2 },
      { id: emma.id, createdAt: emma.createdAt.toISOString(), shelfName: name, bookCount: 2 },
    ])
    expect((await onShelf.rows(database, { name, status: 'lent' })).map(({ id: found }) => found)).toEqual([ulysses.id])
    expect(await onShelf.row(database, { name: 'none' })).toBeUndefined()
  })

  test('subqueries and common table expressions keep their columns', async () => {
    await books.insert(database, book('Emma'))
    const latest = query({ books }, (db, $: { ids: readonly string[] }) =>
      db
        .with('recent', (inner) =>
          inner
            .selectFrom('books')
            .select(['shelfId', 'createdAt'])
            .where(rawSql<boolean>`shelf_id = any(${$.ids})`),
        )
        .selectFrom('recent')
        .select(['recent.shelfId', 'recent.createdAt as newestAt']),
    )
    expect(await latest.rows(database, { ids: [shelfId] })).toEqual([
      { shelfId, newestAt: new Date(now).toISOString() },
    ])
  })

  test('writes return property names', async () => {
    const row = book('Emma')
    await books.insert(database, row)
    const lend = query({ books }, (db, $: { id: string; at: Date }) =>
      db.updateTable('books').set({ status: 'lent', lentAt: $.at }).where('id', '=', $.id).returning(['id', 'lentAt']),
    )
    const at = new Date('2026-03-01T00:00:00Z')
    expect(await lend.rows(database, { id: row.id, at })).toEqual([{ id: row.id, lentAt: at.toISOString() }])
    expect(await lend.run(database, { id: shelfId, at })).toBe(0)
  })

  test('a write uses rows of a subquery', async () => {
    const [emma, ulysses] = [book('Emma'), book('Ulysses', { status: 'lent' })]
    await books.insertAll(database, [emma])
    await books.insertAll(database, [ulysses])
    const removeLent = query({ books }, (db) =>
      db
        .deleteFrom('books')
        .using(db.selectFrom('books as other').select('other.createdAt').where('status', '=', 'lent').as('lent'))
        .whereRef('books.createdAt', '=', 'lent.createdAt'),
    )
    expect(await removeLent.run(database, {})).toBe(1)
    expect((await books.find(database, {})).map(({ title }) => title)).toEqual(['Emma'])
  })

  test('rows are counted', async () => {
    const counted = query({ books }, (db) => db.selectFrom('books').select((e) => e.fn.countAll<number>().as('count')))
    expect(await counted.row(database, {})).toEqual({ count: await books.count(database, {}) })
  })

  test('the columns of the result must be named', () => {
    const refused = [
      query({ books }, (db) => db.selectFrom('books').selectAll()),
      query({ books }, (db) => db.selectFrom('books as b').selectAll('b')),
      query({ books }, (db) => db.deleteFrom('books').returningAll()),
      query({ books }, (db) => db.selectFrom(db.selectFrom('books').select('shelfId').as('b')).selectAll()),
    ]
    for (const all of refused) expect(() => all.rows(database, {})).toThrow('must name the columns')
  })

  test('a subquery may select all columns', async () => {
    await books.insert(database, book('Emma'))
    const allowed = [
      query({ books }, (db) => db.selectFrom(db.selectFrom('books').selectAll().as('b')).select('b.shelfId')),
      query({ books }, (db) => db.selectFrom((e) => e.selectFrom('books').selectAll().as('b')).select('b.shelfId')),
      query({ books }, (db) =>
        db
          .selectFrom('books')
          .select('shelfId')
          .where((e) => e.exists(e.selectFrom('books as b').selectAll('b').whereRef('b.id', '=', 'books.id'))),
      ),
    ]
    for (const some of allowed) expect(await some.rows(database, {})).toContainEqual({ shelfId })
  })

  test('tables must be named in camel case', () => {
    expect(() => query({ volumes: books }, (db) => db.selectFrom('volumes').select('id'))).toThrow(/camel case/)
  })
})

test('wrong columns and types do not compile', () => {
  expectTypeOf<Row<typeof Book>['createdAt']>().toEqualTypeOf<string>()
  expectTypeOf<Row<typeof Book>['status']>().toEqualTypeOf<'open' | 'lent'>()
  expectTypeOf<Row<typeof Book>['shelfId']>().toEqualTypeOf<string>()
  expectTypeOf<Row<typeof Book>['bytes']>().toEqualTypeOf<number>()
  const never = async () => {
    // @ts-expect-error there is no such column
    await books.find(database, { titel: 'x' })
    // @ts-expect-error a number is no title
    await books.find(database, { title: 1 })
    // @ts-expect-error the title is missing
    await books.insert(database, { id: id(), shelfId, createdAt: new Date() })
    // @ts-expect-error no such status
    await books.update(database, { id: id() }, { status: 'lost' })
    // @ts-expect-error no such order
    await books.find(database, {}, { orderBy: ['title up'] })
    // @ts-expect-error a column that was not read
    void (await books.first(database, {}, { columns: ['id'] }))?.title
  }
  expect(never).toBeInstanceOf(Function)
})
