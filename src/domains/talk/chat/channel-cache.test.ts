import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../../core/clock.ts'
import type { Turn } from '../../../core/turn.ts'
import { CachedChannel, ChannelCache } from './channel-cache.ts'
import { MessageRateLimit } from './message-rate-limit.ts'
import type { ChannelData, MessageData } from './schemas.ts'

let clock: ManualClock
let limit: MessageRateLimit
let channel: CachedChannel
let settled: (() => void)[]

beforeEach(() => {
  clock = new ManualClock()
  limit = new MessageRateLimit(clock, true)
  channel = new CachedChannel({ _id: 'c1' } as ChannelData, 0)
  settled = []
})

const turn = { settled: (action: () => void) => void settled.push(action) } as unknown as Turn

/** Takes a token, and lets the turn succeed. */
function write(userId = 'ada', on = channel): void {
  limit.take(turn, on, userId)
  for (const action of settled.splice(0)) action()
}

const refused = () => expect(() => write()).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfter: 1 }))

test('a user may send ten messages at once and then five a second, in each channel', () => {
  for (let count = 0; count < 10; count += 1) write()
  refused()
  clock.advance(199)
  refused()
  clock.advance(1)
  write()
  refused()
  write('bob')
  write('ada', new CachedChannel({ _id: 'c2' } as ChannelData, 0))
})

test('a turn that fails takes no token', () => {
  for (let count = 0; count < 50; count += 1) {
    limit.take(turn, channel, 'ada')
    settled.length = 0
  }
  for (let count = 0; count < 10; count += 1) write()
  refused()
})

test('the limit can be switched off', () => {
  limit = new MessageRateLimit(clock, false)
  for (let count = 0; count < 100; count += 1) write()
  expect(channel.buckets.size).toBe(0)
})

test('a channel forgets idle users once it has rate limits for a thousand', () => {
  for (let user = 0; user < 1_000; user += 1) write(`user ${user}`)
  clock.advance(200)
  expect(channel.buckets.size).toBe(1_000)
  write('one more')
  expect([...channel.buckets.keys()]).toEqual(['one more'])
})

test('the cache holds the newest channels and recent messages, and forgets the others', () => {
  const cache = new ChannelCache()
  for (let index = 0; index <= 500; index += 1) {
    cache.add(new CachedChannel({ _id: `c${index}` } as ChannelData, 0))
  }
  expect(cache.get('c0')).toBeDefined()
  cache.trim()
  expect([cache.get('c0'), cache.get('c1')?.channel._id]).toEqual([undefined, 'c1'])
  cache.remove('c1')
  expect(cache.get('c1')).toBeUndefined()
  for (let index = 0; index <= 200; index += 1) channel.remember(`k${index}`, { _id: `m${index}` } as MessageData)
  expect([channel.recent('k0'), channel.recent('k1')?._id]).toEqual([undefined, 'm1'])
  channel.forgetRecent()
  expect(channel.recent('k1')).toBeUndefined()
})
