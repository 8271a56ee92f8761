import { afterEach, expect, it, vi } from 'vitest'
import { systemClock, systemRandom, within } from './clock.ts'
import { SimProcess } from './simulation/process.ts'
import { Scheduler } from './simulation/scheduler.ts'

function manual() {
  const scheduler = new Scheduler()
  return { scheduler, clock: new SimProcess('node', scheduler, 1, 0).clock }
}

it('waits for work up to its limit, and reports later errors too', async () => {
  const { scheduler, clock } = manual()
  const [errors, ends]: [unknown[], number[]] = [[], []]
  const work = Promise.withResolvers<void>()
  const waited = within(clock, 100, work.promise, (error) => void errors.push(error)).then(
    () => void ends.push(scheduler.now),
  )
  await scheduler.run(99)
  expect(ends).toEqual([])
  await scheduler.run(100)
  await waited
  expect(ends).toEqual([100])
  work.reject('late')
  await scheduler.run(200)
  await new Promise(setImmediate)
  expect(errors).toEqual(['late'])
})

it('leaves no timer behind when the work ends in time or fails', async () => {
  const { scheduler, clock } = manual()
  await within(clock, 100, Promise.resolve())
  await within(clock, 100, Promise.reject(new Error('no')))
  expect(scheduler.waiting).toBe(0)
})

afterEach(() => vi.useRealTimers())

it('sets and cancels system timers', () => {
  vi.useFakeTimers()
  const clock = systemClock()
  const called: string[] = []
  clock.after(10, () => void called.push('cancelled'))()
  clock.after(10, () => void called.push('kept'))
  vi.advanceTimersByTime(9)
  expect(called).toEqual([])
  vi.advanceTimersByTime(1)
  expect(called).toEqual(['kept'])
})

it('generates different random fractions below 1', () => {
  const fractions = Array.from({ length: 100 }, () => systemRandom.fraction())
  expect(fractions.every((one) => one >= 0 && one < 1)).toBe(true)
  expect(new Set(fractions).size).toBeGreaterThan(90)
  expect(systemRandom.bytes(12)).toHaveLength(12)
})
