import { expect, test } from 'vitest'
import type { Sql } from '../core/sql.ts'
import type { PoolClient } from 'pg'
import type { Database } from '../db/database.ts'
import { RowShapes } from '../db/row-shape.ts'
import { Batch, PendingRows } from './batch.ts'

const [notes, tags] = ['notes', 'tags'].map((table) => new RowShapes(table, (column) => column)) as [
  RowShapes,
  RowShapes,
]

test('rows wait in one list per statement, in order, until they are taken', async () => {
  const [rows, others] = [new PendingRows(), new PendingRows()]
  expect(rows.isEmpty).toBe(true)
  for (const n of [1, 2]) rows.add(notes.toInsert({ n }))
  others.add(notes.toInsert({ n: 3 }))
  others.add(tags.toInsert({ name: 'x' }))
  rows.addAll(others)
  const statements = rows.take()
  expect(statements.map(({ values }) => JSON.parse(values?.[0] as string) as unknown)).toEqual([
    [{ n: 1 }, { n: 2 }, { n: 3 }],
    [{ name: 'x' }],
  ])
  expect([rows.isEmpty, rows.take(), others.isEmpty]).toEqual([true, [], false])
  const ran: string[] = []
  await others.flush({ run: async (text: string) => ran.push(text) } as Partial<Sql> as Sql)
  expect([ran.length, others.isEmpty]).toEqual([2, true])
})

test('a batch sends its rows while later turns run, in ever larger pieces', async () => {
  const sent: number[] = []
  const sql = {
    run: async (_text: string, [rows]: [string]) => sent.push((JSON.parse(rows) as unknown[]).length),
  } as never as Sql
  const database = { inOnePiece: (_client: PoolClient, send: () => unknown) => send() } as never as Database
  const batch = new Batch(database, {} as PoolClient, sql)
  for (let n = 0; n < 100; n += 1) {
    const ofTurn = new PendingRows()
    ofTurn.add(notes.toInsert({ n }))
    batch.pending.addAll(ofTurn)
    batch.sendAhead()
  }
  await batch.settled()
  expect([sent, batch.pending.size]).toEqual([[12, 24, 48], 16])
})

test('a batch reports rows that were sent and not inserted', async () => {
  const sql = { run: () => Promise.reject(new Error('no such table')) } as never as Sql
  const database = { inOnePiece: (_client: PoolClient, send: () => unknown) => send() } as never as Database
  const batch = new Batch(database, {} as PoolClient, sql)
  for (let n = 0; n < 12; n += 1) batch.pending.add(notes.toInsert({ n }))
  batch.sendAhead()
  await expect(batch.settled()).rejects.toThrow('no such table')
})
