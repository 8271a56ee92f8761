import { expect, test } from 'vitest'
import { Quarantine } from './quarantine.ts'

test('a sweep keeps failures of the last minute and drops older ones', () => {
  let now = 1_000_000
  const quarantine = new Quarantine(() => now, 3)
  const fail = (times: number) => {
    for (let time = 0; time < times; time += 1) quarantine.failed('ws:1')
  }
  fail(2)
  now += 59_000
  quarantine.sweep()
  fail(1)
  expect(quarantine.names()).toEqual(['ws:1'])
  expect(quarantine.refusal('ws:1')).toMatchObject({ reason: 'quarantined', retryAfter: 1 })
  quarantine.sweep()
  expect(quarantine.names()).toEqual(['ws:1'])
  now += 60_001
  quarantine.sweep()
  fail(2)
  expect(quarantine.names()).toEqual([])
})

test('a blocked actor is refused for a second, then for twice as long each time, up to a minute', () => {
  let now = 0
  const quarantine = new Quarantine(() => now, 1)
  const seconds: (number | undefined)[] = []
  for (let count = 0; count < 8; count += 1) {
    quarantine.failed('ws:1')
    // Failures of commands that were already under way do not make it longer.
    quarantine.failed('ws:1')
    const left = quarantine.refusal('ws:1')?.retryAfter ?? 0
    seconds.push(left)
    now += left * 1_000 - 1
    expect(quarantine.refusal('ws:1')?.retryAfter).toBe(1)
    now += 1
    expect([quarantine.refusal('ws:1'), quarantine.names()]).toEqual([undefined, []])
  }
  expect(seconds.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 32])
  expect(Math.max(...(seconds as number[]))).toBeLessThanOrEqual(60)
  expect(quarantine.refusal('ws:2')).toBeUndefined()
})

test('a success ends the count of failures, and so does a minute', () => {
  let now = 0
  const quarantine = new Quarantine(() => now, 2)
  quarantine.failed('ws:1')
  quarantine.succeeded('ws:1')
  quarantine.failed('ws:1')
  expect(quarantine.names()).toEqual([])
  now += 60_000
  quarantine.failed('ws:1')
  expect(quarantine.names()).toEqual([])
  now += 59_999
  quarantine.failed('ws:1')
  expect(quarantine.names()).toEqual(['ws:1'])
})
