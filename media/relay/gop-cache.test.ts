import { expect, test } from 'vitest'
import { GopCache } from './gop-cache.ts'
import type { RelayMessage } from './relay-message.ts'

const cache = () => new GopCache({ maxBytes: 10_000, maxMessages: 500 })

function message(kind: 'audio' | 'video', timestamp: number, options: Partial<RelayMessage> = {}): RelayMessage {
  const payload = Buffer.alloc(10)
  return { kind, timestamp, payload, isSequenceHeader: false, isKeyframe: false, ...options } as RelayMessage
}

const key = (timestamp: number) => message('video', timestamp, { isKeyframe: true })
const times = (one: GopCache) => one.gop().map(({ timestamp }) => timestamp)

test('audio before the first keyframe belongs to the first GOP only', () => {
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

test('without video only a limited amount of audio is kept', () => {
  const one = cache()
  for (let index = 0; index < 10_000; index += 1) one.add(message('audio', index * 21))
  expect(times(one)).toEqual([])
  one.add(key(210_000))
  expect(times(one)).toHaveLength(101)
  expect(times(one)[0]).toBe(9_900 * 21)
})
