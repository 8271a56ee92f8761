import { expect, test } from 'vitest'
import type { FaultCode } from '../fault-codes.ts'
import { Fault } from './fault.ts'
import { DEFAULT_RELAY_LIMITS } from './limits.ts'
import { RetryPolicy } from './retry-policy.ts'

const policy = (hasWorked: boolean) => new RetryPolicy(DEFAULT_RELAY_LIMITS, hasWorked)
const after = (one: RetryPolicy, code: FaultCode, times: number) =>
  Array.from({ length: times }, () => one.after(new Fault(code, 'message')))

test('a key that has never worked is not retried after three refusals', () => {
  const waits = after(policy(false), 'rejected', 3).map(({ waitMs }) => waitMs)
  expect(waits).toEqual([expect.any(Number), expect.any(Number), null])
})

test.each([
  ['a key that has worked', true, 'rejected'],
  ['a key that is in use', false, 'key_in_use'],
] as const)('%s is retried without limit, with delays of at most 30 s', (_what, hasWorked, code) => {
  const waits = after(policy(hasWorked), code, 50).map(({ waitMs }) => waitMs ?? Infinity)
  expect(waits.slice(0, 2)).toEqual([10_000, 20_000])
  expect(Math.max(...waits)).toBe(30_000)
})

test('a manual retry resets the count of refusals', () => {
  const one = policy(false)
  after(one, 'rejected', 3)
  one.reset()
  expect(after(one, 'rejected', 1)[0]?.waitMs).not.toBeNull()
})

test('only early closes in a row lead to the hint about the key', () => {
  const one = policy(false)
  after(one, 'closed_on_publish', 2)
  after(one, 'connection_refused', 1)
  const hints = after(one, 'closed_on_publish', 3).map(({ hint }) => hint !== undefined)
  expect(hints).toEqual([false, false, true])
})
