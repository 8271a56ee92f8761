import { expect, test } from 'vitest'
import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { MediaKind, MediaMessage } from '../types.ts'
import { StreamInput } from './stream-input.ts'

const LIMITS = { maxBytes: 10_000, maxMessages: 1_000 }
const input = (publisher: Partial<Publisher> = {}) => new StreamInput(publisher as Publisher, 'primary', LIMITS, 0)

function message(kind: MediaKind, timestamp: number, isKeyframe = false): MediaMessage {
  return { kind, timestamp, payload: Buffer.alloc(1), isSequenceHeader: false, isKeyframe }
}

test('continues from the last keyframe of a burst', () => {
  const one = input()
  for (const timestamp of [0, 500, 1_000]) {
    one.note(message('video', timestamp, true), 5_000, true)
    one.note(message('video', timestamp + 40), 5_001, true)
  }
  expect(one.canReplaceSlate(5_100)).toBe(false)
  expect(one.canReplaceSlate(5_200)).toBe(true)
  expect(one.gop().map(({ timestamp }) => timestamp)).toEqual([1_000, 1_040])
})

test('waits at most a second when every frame is a keyframe', () => {
  const one = input()
  const from = [...Array(60).keys()].find((at) => {
    one.note(message('video', at * 40, true), at * 40, true)
    return one.canReplaceSlate(at * 40)
  })
  expect(from).toBe(25)
})

test('an audio-only publisher replaces the slate after two seconds', () => {
  const one = input()
  one.note(message('audio', 0), 100, true)
  expect(one.canReplaceSlate(2_000)).toBe(false)
  expect(one.canReplaceSlate(2_100)).toBe(true)
  one.note(message('video', 0), 2_200, true)
  expect(one.canReplaceSlate(2_300)).toBe(false)
})

test('with announced video, audio alone replaces the slate only after ten seconds', () => {
  const one = input({ announcesVideo: true })
  one.note(message('audio', 0), 100, true)
  one.note(message('audio', 5_000), 5_000, true)
  expect(one.canReplaceSlate(5_000)).toBe(false)
  expect(one.lastShownAt).toBeNull()
  expect(one.canReplaceSlate(10_100)).toBe(true)
  one.note(message('video', 6_000, true), 6_000, true)
  one.note(message('audio', 6_100), 6_100, true)
  expect(one.lastShownAt).toBe(6_100)
})
