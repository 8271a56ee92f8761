import { beforeEach, expect, it } from 'vitest'
import { Probe } from './probe.ts'
import { SimProcess } from './simulation/process.ts'
import { Scheduler } from './simulation/scheduler.ts'

let scheduler: Scheduler
let asked: number[]
let changes: [number, boolean][]
let answer: () => Promise<unknown>
let probe: Probe

beforeEach(() => {
  scheduler = new Scheduler()
  asked = []
  changes = []
  const { clock } = new SimProcess('node', scheduler, 1, 0)
  const ask = () => {
    asked.push(scheduler.now)
    return answer()
  }
  probe = new Probe(clock, ask, (healthy) => void changes.push([scheduler.now, healthy]))
})

const fail = () => Promise.reject(new Error('away'))
const succeed = async () => undefined

it('checks every second, and reports nothing without a failure', async () => {
  answer = succeed
  await scheduler.run(3_500)
  expect(asked).toEqual([1_000, 2_000, 3_000])
  expect(changes).toEqual([])
})

it('checks more often after a failure, and reports the second one in a row', async () => {
  answer = fail
  await scheduler.run(1_000)
  answer = succeed
  await scheduler.run(1_250)
  answer = fail
  await scheduler.run(2_900)
  expect(asked).toEqual([1_000, 1_250, 2_250, 2_500, 2_750])
  expect(changes).toEqual([[2_500, false]])
  answer = succeed
  await scheduler.run(4_500)
  expect(asked.slice(5)).toEqual([3_000, 4_000])
  expect(changes).toEqual([
    [2_500, false],
    [3_000, true],
  ])
})

it('treats no reply within a second as a failure', async () => {
  answer = () => new Promise(() => undefined)
  await scheduler.run(4_000)
  expect(asked).toEqual([1_000, 2_250, 3_500])
  expect(changes).toEqual([[3_250, false]])
})

it('checks and reports nothing after it was closed, even if a reply arrives later', async () => {
  answer = fail
  await scheduler.run(1_100)
  const late = Promise.withResolvers<void>()
  answer = () => late.promise
  await scheduler.run(1_300)
  probe.close()
  late.reject(new Error('away'))
  await scheduler.run(10_000)
  expect(asked).toEqual([1_000, 1_250])
  expect(changes).toEqual([])
  expect(scheduler.waiting).toBe(0)
})

it('stops when it is closed between two checks', async () => {
  probe.close()
  await scheduler.run(10_000)
  expect(asked).toEqual([])
})
