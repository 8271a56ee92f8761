import { expect, test } from 'vitest'
import { DAY, ManualClock } from '../../../core/clock.ts'
import type { Sql, SqlValue } from '../../../core/sql.ts'
import { ChatLogRetention } from './log-retention.ts'

/** A database with some channels, of which each has as many old changes. A statement removes at most 2 of each. */
function start(channels: number, changes: number) {
  const ids = Array.from({ length: channels }, (_, index) => `c${String(index).padStart(3, '0')}`)
  const left = new Map(ids.map((id) => [id, changes]))
  const abort = new AbortController()
  const statements: { channels: number; values: readonly SqlValue[] }[] = []
  const sql = {
    rows: async (_: string, values: readonly SqlValue[]) => {
      const [after, limit] = values.length === 2 ? values : ['', values[0]]
      return ids
        .filter((id) => id > (after as string))
        .slice(0, limit as number)
        .map((id) => ({ id }))
    },
    run: async (_: string, values: readonly SqlValue[]) => {
      const asked = values.find((value) => Array.isArray(value)) as string[]
      statements.push({ channels: asked.length, values })
      let removed = 0
      for (const id of asked) {
        const some = Math.min(2, left.get(id) ?? 0)
        left.set(id, (left.get(id) ?? 0) - some)
        removed += some
      }
      return removed
    },
  } as unknown as Sql
  const clock = new ManualClock()
  const prune = () => new ChatLogRetention(sql, clock).prune(abort.signal, { changes: 10, days: 3 })
  return { abort, clock, left: () => Math.max(0, ...left.values()), prune, statements }
}

test('removes the old changes of all channels, fifty channels at a time', async () => {
  const { clock, left, prune, statements } = start(120, 3)
  expect(await prune()).toBe(360)
  expect(left()).toBe(0)
  // Two statements remove the changes, and a third one finds none.
  expect(statements.map(({ channels }) => channels)).toEqual([50, 50, 50, 50, 50, 50, 20, 20, 20])
  expect(statements[0]?.values).toContain(new Date(clock.now() - 3 * DAY).toISOString())
  expect(statements[0]?.values).toContain(10)
})

test('removes nothing more after the signal', async () => {
  const { abort, left, prune, statements } = start(60, 10)
  abort.abort()
  expect(await prune()).toBe(0)
  expect([statements, left()]).toEqual([[], 10])
})

test('ends between two statements when it is stopped', async () => {
  const { abort, prune, statements } = start(60, 10)
  const pruning = prune()
  while (statements.length < 2) await Promise.resolve()
  abort.abort()
  expect(await pruning).toBe(200)
  expect(statements).toHaveLength(2)
})
