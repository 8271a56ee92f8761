import { expect, test } from 'vitest'
import { ManualClock } from '../core/clock.ts'
import { createLog } from '../core/log.ts'
import type { Backend } from './backend.ts'
import type { GivenRow, Outbox } from './outbox.ts'
import { Sweeper } from './sweeper.ts'

/** An outbox with rows that were added to a queue, and a queue that has some of them. */
function start(rows: readonly GivenRow[], known: (id: string) => boolean, { wasEmptied = false } = {}) {
  const returned: string[] = []
  const asked: Date[] = []
  const outbox: Pick<Outbox, 'queuedBefore' | 'requeueLost' | 'requeueAll'> = {
    queuedBefore: async (before, after = '', limit) => {
      asked.push(before)
      return rows.filter(({ id }) => id > after).slice(0, limit)
    },
    requeueLost: async (lost) => {
      returned.push(...lost.map(({ id }) => id))
      return lost.length
    },
    requeueAll: async () => rows.length,
  }
  const backend = {
    store: { wasEmptied: async () => wasEmptied },
    known: async (_queue: string, ids: readonly string[]) => new Set(ids.filter(known)),
  }
  const lines: string[] = []
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } })
  const sweeper = new Sweeper({ clock: new ManualClock(60_000), log, graceMs: 1_000, outbox: outbox as Outbox })
  return { asked, lines, returned, sweep: () => sweeper.sweep(backend as unknown as Backend) }
}

function row(index: number, state: GivenRow['state'] = 'queued'): GivenRow {
  return { id: String(index).padStart(6, '0'), queue: 'default', state, attempts: 1 }
}

test('checks a thousand rows per round, and starts over after the last row', async () => {
  const rows = Array.from({ length: 1_001 }, (_, index) => row(index))
  const last = rows[1_000]!.id
  const { returned, sweep } = start(rows, (id) => id !== last && id !== rows[0]!.id)
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([rows[0]!.id])
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([rows[0]!.id, last])
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([rows[0]!.id, last, rows[0]!.id])
})

test('requeues a running job that two passes over all rows did not find', async () => {
  const { returned, sweep } = start([row(1, 'running'), row(2)], (id) => id !== row(1).id)
  expect(await sweep()).toBe(0)
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([row(1).id])
})

test('requeues rows of a queue that no longer exists', async () => {
  const { returned, sweep } = start([{ ...row(1), queue: 'gone' }], () => true)
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([row(1).id])
})

test('asks only for rows that have had time to arrive', async () => {
  const { asked, sweep } = start([], () => true)
  expect(await sweep()).toBe(0)
  expect(asked).toEqual([new Date(59_000)])
})

test('warns only when it has found something', async () => {
  const lost = start([row(1)], () => false)
  await lost.sweep()
  const emptied = start([row(1)], () => true, { wasEmptied: true })
  await emptied.sweep()
  expect([lost.lines.length, emptied.lines.length]).toEqual([1, 1])
  const well = start([row(1)], () => true)
  await well.sweep()
  const empty = start([], () => true, { wasEmptied: true })
  await empty.sweep()
  expect([...well.lines, ...empty.lines]).toEqual([])
})

test('requeues everything when the queues were emptied', async () => {
  const { asked, returned, sweep } = start([row(1), row(2)], () => true, { wasEmptied: true })
  expect(await sweep()).toBe(2)
  expect([asked, returned]).toEqual([[], []])
})

test('counts what it has requeued in all queues', async () => {
  const { sweep } = start([row(1), { ...row(2), queue: 'media' }, { ...row(3), queue: 'media' }], () => false)
  expect(await sweep()).toBe(3)
})

test('keeps a running job that was found again in between, or that runs another attempt', async () => {
  const rows = [row(1, 'running')]
  let isKnown = false
  const { returned, sweep } = start(rows, () => isKnown)
  expect(await sweep()).toBe(0)
  isKnown = true
  expect(await sweep()).toBe(0)
  isKnown = false
  expect(await sweep()).toBe(0)
  rows[0] = { ...row(1, 'running'), attempts: 2 }
  expect(await sweep()).toBe(0)
  expect(await sweep()).toBe(1)
  expect(returned).toEqual([row(1).id])
})
