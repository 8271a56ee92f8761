import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { inWork, measured, resumed, working, type Work } from './work-time.ts'

/** Work that records its pieces. */
function record(): Work & { readonly pieces: number[] } {
  const pieces: number[] = []
  return { pieces, spent: (ms) => void pieces.push(ms) }
}

let now = 0

beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now))
afterEach(() => void vi.restoreAllMocks())

/** Keeps the main thread, as computation does. */
function compute(ms: number): void {
  now += ms
}

/** A statement of the database, as far as these tests are concerned. */
async function statement(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve))
  resumed()
}

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

test('the time until a handler waits, and after each result, counts for its work', async () => {
  const one = record()
  await working(one, async () => {
    compute(5)
    await statement()
    compute(7)
    await Promise.resolve()
    compute(4)
  })
  await turnOfTheLoop()
  expect(one.pieces).toEqual([5, 11])
})

test('two kinds of work that continue in the same turn of the loop are told apart', async () => {
  const [heavy, light] = [record(), record()]
  await Promise.all([
    working(light, statement),
    working(heavy, async () => {
      await statement()
      compute(20)
    }),
    working(light, statement),
  ])
  await turnOfTheLoop()
  expect(heavy.pieces).toEqual([0, 20])
  expect(light.pieces).toEqual([0, 0, 0, 0])
})

test('idle time and the work of others count for nobody', async () => {
  const one = record()
  const running = working(one, statement)
  compute(30)
  await running
  await turnOfTheLoop()
  compute(30)
  resumed()
  expect(one.pieces).toEqual([0, 0])
})

test('work that is only entered is not measured, but what it continues with is', async () => {
  const one = record()
  const reply = inWork(one, () => statement())
  expect(one.pieces).toEqual([])
  await reply
  await turnOfTheLoop()
  expect(one.pieces).toHaveLength(1)
  expect(measured(one, () => 'done')).toBe('done')
  expect(one.pieces).toHaveLength(2)
})
