import { expect, test } from 'vitest'
import { KeyContests } from './key-contests.ts'

test('the fourth take-over within a minute is refused, until the first is a minute ago', () => {
  const contests = new KeyContests()
  const seconds = [0, 10, 20, 30, 59, 61, 62]
  const allowed = seconds.map((second) => contests.challenge('path', second * 1_000).allowed)
  expect(allowed).toEqual([true, true, true, false, false, true, false])
  expect(contests.challenge('another path', 62_000)).toEqual({ allowed: true, count: 1 })
})
