import { expect, test } from 'vitest'
import type { MediaKind, MediaMessage } from '../types.ts'
import { Timeline } from './timeline.ts'

function message(kind: MediaKind, timestamp: number, isHeader = false): MediaMessage {
  return { kind, timestamp, payload: Buffer.alloc(1), isHeader, isKeyframe: false }
}

test('starts at 0 and keeps what lies between messages', () => {
  const timeline = new Timeline()
  expect(timeline.place(message('video', 5_000_000), 100)).toMatchObject({ timestamp: 0, previousTimestamp: -1 })
  expect(timeline.place(message('audio', 5_000_010), 110)).toMatchObject({ timestamp: 10, previousTimestamp: -1 })
  expect(timeline.place(message('video', 5_000_033), 133)).toMatchObject({ timestamp: 33, previousTimestamp: 0 })
})

test('a configuration stamped with 0 moves nothing, before the first frame or later', () => {
  const timeline = new Timeline()
  timeline.place(message('video', 0, true), 0)
  const first = timeline.place(message('video', 900_000), 5)
  expect(first.timestamp).toBeLessThan(20)
  timeline.place(message('data', 0), 20)
  expect(timeline.place(message('video', 900_040), 45).timestamp).toBe(first.timestamp + 40)
})

test('another publisher goes on after the time that passed, sound and picture by one offset', () => {
  const timeline = new Timeline()
  timeline.place(message('video', 0), 0)
  timeline.place(message('audio', 1_000), 1_000)
  timeline.restart()
  const video = timeline.place(message('video', 70), 8_000).timestamp
  const audio = timeline.place(message('audio', 82), 8_010).timestamp
  expect(video).toBe(8_000)
  expect(audio - video).toBe(12)
})

test('nothing of one kind goes back, and small disorder moves nothing', () => {
  const timeline = new Timeline()
  timeline.place(message('video', 0), 0)
  timeline.place(message('video', 500), 500)
  expect(timeline.place(message('video', 450), 510).timestamp).toBe(500)
  expect(timeline.place(message('audio', 460), 511).timestamp).toBe(460)
  expect(timeline.place(message('video', 540), 540).timestamp).toBe(540)
})

test('a clock that starts anew or leaps is set right', () => {
  const timeline = new Timeline()
  timeline.place(message('video', 100_000), 0)
  timeline.place(message('video', 101_000), 1_000)
  expect(timeline.place(message('video', 0), 1_040).timestamp).toBe(1_040)
  expect(timeline.place(message('video', 4_000_000), 1_080).timestamp).toBe(1_080)
  expect(timeline.place(message('video', 4_000_040), 1_120).timestamp).toBe(1_120)
})
