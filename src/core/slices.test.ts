import { expect, test } from 'vitest'
import { ManualClock } from './clock.ts'
import { SLICE_MS, Slices } from './slices.ts'

/** Does `steps` steps of one millisecond, and logs each slice. */
async function compute(name: string, steps: number, log: string[]): Promise<void> {
  const clock = new ManualClock()
  const slices = new Slices(clock)
  log.push(name)
  for (let step = 0; step < steps; step += 1) {
    clock.advance(1)
    const paused = slices.pause()
    if (paused === undefined) continue
    await paused
    log.push(name)
  }
}

test('a computation that is shorter than a slice does not wait', async () => {
  const log: string[] = []
  const done = compute('a', SLICE_MS - 1, log)
  setImmediate(() => log.push('other'))
  await done
  expect(log).toEqual(['a'])
})

test('in each turn of the event loop, one slice of one computation runs, and they take turns', async () => {
  const log: string[] = []
  const work = [compute('a', 3 * SLICE_MS, log), compute('b', 2 * SLICE_MS, log)]
  let isDone = false
  const turns = () => {
    log.push('|')
    if (!isDone) setImmediate(turns)
  }
  setImmediate(turns)
  await Promise.all(work)
  isDone = true
  // The first slices run when the computations start, and the others one by one.
  const slices = log.join('').split('|')
  expect(slices.join('')).toBe('abababa')
  expect(slices.slice(1).every((slice) => slice.length <= 1)).toBe(true)
})

test('inside of a transaction, a statement is sent every second, so that PostgreSQL does not end it as idle', async () => {
  const clock = new ManualClock()
  const statements: string[] = []
  const run = async (text: string) => statements.push(text)
  const sql = { run, row: async () => undefined, rows: async () => [] }
  const slices = new Slices(clock, sql)
  for (let step = 0; step < 700; step += 1) {
    clock.advance(SLICE_MS)
    await slices.pause()
  }
  expect(statements).toEqual(['select 1', 'select 1', 'select 1'])
})
