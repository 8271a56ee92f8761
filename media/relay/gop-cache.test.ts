import { expect, test } from 'vitest'
import { GroupCache } from './group-cache.ts'
import type { RelayMessage } from './relay-message.ts'

const cache = () => new GroupCache({ maxBytes: 10_000, maxMessages: 500 })

function message(kind: 'audio' | 'video', timestamp: number, options: Partial<RelayMessage> = {}): RelayMessage {
  const payload = Buffer.alloc(10)
  return { kind, timestamp, payload, isHeader: false, isKeyframe: false, ...options } as RelayMessage
}

const key = (timestamp: number) => message('video', timestamp, { isKeyframe: true })
const times = (group: GroupCache) => group.group().map(({ timestamp }) => timestamp)

test('sound before the first picture belongs to the first group, and to no later one', () => {
  const one = cache()
  for (const each of [message('audio', 0), message('audio', 21), key(24), message('audio', 42)]) one.add(each)
  expect(times(one)).toEqual([0, 21, 24, 42])
  expect(one.bytes).toBe(40)
  one.add(key(2_024))
  expect(times(one)).toEqual([2_024])
  one.reset()
  one.add(message('audio', 5))
  expect(times(one)).toEqual([])
  one.add(key(6))
  expect(times(one)).toEqual([5, 6])
})

test('without pictures nothing is kept but a bounded lead', () => {
  const one = cache()
  for (let index = 0; index < 10_000; index += 1) one.add(message('audio', index * 21))
  expect(times(one)).toEqual([])
  one.add(key(210_000))
  expect(times(one)).toHaveLength(101)
  expect(times(one)[0]).toBe(9_900 * 21)
})
