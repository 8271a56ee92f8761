import { expect, test } from 'vitest'
import { ManualClock, MINUTE, SECOND } from '../../core/clock.ts'
import { CircuitBreaker } from './circuit-breaker.ts'

function failing(breaker: CircuitBreaker, times: number): void {
  for (let count = 0; count < times; count += 1) {
    breaker.enter('host')
    breaker.report('host', false)
  }
}

test('opens after five failures in a row, for one host only', () => {
  const breaker = new CircuitBreaker(new ManualClock())
  failing(breaker, 4)
  expect(breaker.enter('host')).toBe(0)
  breaker.report('host', false)
  expect(breaker.enter('host')).toBe(5 * SECOND)
  expect(breaker.enter('other')).toBe(0)
})

test('a success in between keeps it closed', () => {
  const breaker = new CircuitBreaker(new ManualClock())
  failing(breaker, 4)
  breaker.enter('host')
  breaker.report('host', true)
  failing(breaker, 4)
  expect(breaker.enter('host')).toBe(0)
})

test('allows one trial call after the pause, and closes when it succeeds', () => {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker(clock)
  failing(breaker, 5)
  clock.advance(5 * SECOND)
  expect(breaker.enter('host')).toBe(0)
  expect(breaker.enter('host')).toBeGreaterThan(0)
  breaker.report('host', true)
  expect(breaker.enter('host')).toBe(0)
})

test('each failed trial doubles the pause, up to five minutes', () => {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker(clock)
  failing(breaker, 5)
  const pauses: number[] = []
  for (let trial = 0; trial < 8; trial += 1) {
    clock.advance(breaker.enter('host'))
    expect(breaker.enter('host')).toBe(0)
    breaker.report('host', false)
    pauses.push(breaker.enter('host'))
  }
  expect(pauses.map((ms) => ms / SECOND)).toEqual([10, 20, 40, 80, 160, 300, 300, 300])
  expect(pauses.at(-1)).toBe(5 * MINUTE)
})

test('after a cancelled trial, the next call is a trial', () => {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker(clock)
  failing(breaker, 5)
  clock.advance(5 * SECOND)
  breaker.enter('host')
  breaker.report('host', undefined)
  expect(breaker.enter('host')).toBe(0)
})
