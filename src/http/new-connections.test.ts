import { expect, test } from 'vitest'
import { ManualClock, SECOND } from '../core/clock.ts'
import { NewConnections } from './new-connections.ts'

const LIMITS = { perNetwork: 4, atOnce: 8, total: 10, graceMs: 2 * SECOND, longestMs: 30 * SECOND }

function start() {
  const clock = new ManualClock()
  const refused: number[] = []
  const connections = new NewConnections(LIMITS, clock, () => refused.push(clock.monotonic()))
  const open = (network: string, count: number) =>
    Array.from({ length: count }, () => connections.opened(network)).filter(Boolean).length
  return { clock, connections, open, refused }
}

test('a network has at most so many that are older than a moment, and more at once', () => {
  const { clock, open, refused } = start()
  expect(open('a', 9)).toBe(8)
  expect(refused).toHaveLength(1)
  expect(open('b', 3)).toBe(3)
  clock.advance(2 * SECOND + 1)
  expect([open('a', 1), open('b', 1)]).toEqual([0, 1])
})

test('a request takes one away, and more requests than connections do not count', () => {
  const { clock, connections, open } = start()
  open('a', 4)
  connections.requested('a')
  clock.advance(3 * SECOND)
  expect([open('a', 1), open('a', 1)]).toEqual([1, 1])
  for (let request = 0; request < 20; request += 1) connections.requested('a')
  expect(connections.count).toBe(0)
  expect(open('a', 9)).toBe(8)
})

test('if all networks together have too many, none has more than its share', () => {
  const { clock, open } = start()
  for (const network of ['a', 'b', 'c', 'd']) open(network, 3)
  open('e', 1)
  clock.advance(3 * SECOND)
  expect([open('a', 1), open('e', 1), open('f', 1)]).toEqual([0, 1, 1])
})

test('a connection counts until uWS has closed it', async () => {
  const { clock, connections, open } = start()
  open('a', 8)
  clock.advance(30 * SECOND)
  await expect.poll(() => connections.count, { timeout: 5_000 }).toBe(0)
  expect(open('a', 8)).toBe(8)
})

test('a network with many must close the connections of requests that are refused for their rate', () => {
  const { connections, open } = start()
  open('a', 1)
  expect(connections.mustClose('a')).toBe(false)
  open('a', 1)
  expect(connections.mustClose('a')).toBe(true)
  expect(connections.mustClose('b')).toBe(false)
})
