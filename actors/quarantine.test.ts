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
