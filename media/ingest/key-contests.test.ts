import { expect, test } from 'vitest'
import { KeyContests } from './key-contests.ts'

test('refuses the fourth take-over within a minute', () => {
  const contests = new KeyContests()
  const seconds = [0, 10, 20, 30, 59, 61, 62]
  const allowed = seconds.map((second) => contests.requestTakeOver('path', second * 1_000).allowed)
  expect(allowed).toEqual([true, true, true, false, false, true, false])
  expect(contests.requestTakeOver('another path', 62_000)).toEqual({ allowed: true, count: 1 })
})
