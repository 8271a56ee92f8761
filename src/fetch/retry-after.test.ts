import { expect, test } from 'vitest'
import { retryAfterOf } from './retry-after.ts'

test('Retry-After is a number of seconds or a date', () => {
  const now = Date.parse('2026-11-22T12:00:00Z')
  expect(retryAfterOf({ 'retry-after': '3' }, now)).toBe(3)
  expect(retryAfterOf({ 'retry-after': 'Sun, 22 Nov 2026 12:01:30 GMT' }, now)).toBe(90)
  expect(retryAfterOf({ 'retry-after': 'soon' }, now)).toBeUndefined()
  expect(retryAfterOf({}, now)).toBeUndefined()
})
