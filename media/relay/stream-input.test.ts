import { expect, test } from 'vitest'
import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { MediaKind, MediaMessage } from '../types.ts'
import { Feeder } from './feeder.ts'

const LIMITS = { maxBytes: 10_000, maxMessages: 1_000 }
const feeder = (publisher: Partial<Publisher> = {}) => new Feeder(publisher as Publisher, 'primary', LIMITS, 0)

function message(kind: MediaKind, timestamp: number, isKeyframe = false): MediaMessage {
  return { kind, timestamp, payload: Buffer.alloc(1), isHeader: false, isKeyframe }
}

test('it goes on from the last keyframe of a burst', () => {
  const one = feeder()
  for (const timestamp of [0, 500, 1_000]) {
    one.note(message('video', timestamp, true), 5_000, true)
    one.note(message('video', timestamp + 40), 5_001, true)
  }
  expect(one.canReplace(5_100)).toBe(false)
  expect(one.canReplace(5_200)).toBe(true)
  expect(one.group().map(({ timestamp }) => timestamp)).toEqual([1_000, 1_040])
})

test('it waits for no keyframe that is the last where there is nothing else', () => {
  const one = feeder()
  const from = [...Array(60).keys()].find((at) => {
    one.note(message('video', at * 40, true), at * 40, true)
    return one.canReplace(at * 40)
  })
  expect(from).toBe(25)
})

test('it goes on with sound alone once there is no doubt that there is nothing else', () => {
  const one = feeder()
  one.note(message('audio', 0), 100, true)
  expect(one.canReplace(2_000)).toBe(false)
  expect(one.canReplace(2_100)).toBe(true)
  one.note(message('video', 0), 2_200, true)
  expect(one.canReplace(2_300)).toBe(false)
})

test('sound alone does not do for ten seconds where pictures were announced, and shows nothing until then', () => {
  const one = feeder({ announcesVideo: true })
  one.note(message('audio', 0), 100, true)
  one.note(message('audio', 5_000), 5_000, true)
  expect(one.canReplace(5_000)).toBe(false)
  expect(one.lastShownAt).toBeNull()
  expect(one.canReplace(10_100)).toBe(true)
  one.note(message('video', 6_000, true), 6_000, true)
  one.note(message('audio', 6_100), 6_100, true)
  expect(one.lastShownAt).toBe(6_100)
})
