import { expect, test } from 'vitest'
import type { MediaKind, MediaMessage } from '../types.ts'
import { SourceTimeline } from './source-timeline.ts'

function message(kind: MediaKind, timestamp: number, isSequenceHeader = false): MediaMessage {
  return { kind, timestamp, payload: Buffer.alloc(1), isSequenceHeader, isKeyframe: false }
}

test('starts at 0 and keeps the distances between messages', () => {
  const timeline = new SourceTimeline()
  expect(timeline.place(message('video', 5_000_000), 100)).toMatchObject({ timestamp: 0, previousTimestamp: -1 })
  expect(timeline.place(message('audio', 5_000_010), 110)).toMatchObject({ timestamp: 10, previousTimestamp: -1 })
  expect(timeline.place(message('video', 5_000_033), 133)).toMatchObject({ timestamp: 33, previousTimestamp: 0 })
})

test('a configuration or data message with timestamp 0 does not shift the timeline', () => {
  const timeline = new SourceTimeline()
  timeline.place(message('video', 0, true), 0)
  const first = timeline.place(message('video', 900_000), 5)
  expect(first.timestamp).toBeLessThan(20)
  timeline.place(message('data', 0), 20)
  expect(timeline.place(message('video', 900_040), 45).timestamp).toBe(first.timestamp + 40)
})

test('another publisher continues after the elapsed time, with one offset for audio and video', () => {
  const timeline = new SourceTimeline()
  timeline.place(message('video', 0), 0)
  timeline.place(message('audio', 1_000), 1_000)
  timeline.restart()
  const video = timeline.place(message('video', 70), 8_000).timestamp
  const audio = timeline.place(message('audio', 82), 8_010).timestamp
  expect(video).toBe(8_000)
  expect(audio - video).toBe(12)
})

test('timestamps of one kind never go back, and small steps back do not change the offset', () => {
  const timeline = new SourceTimeline()
  timeline.place(message('video', 0), 0)
  timeline.place(message('video', 500), 500)
  expect(timeline.place(message('video', 450), 510).timestamp).toBe(500)
  expect(timeline.place(message('audio', 460), 511).timestamp).toBe(460)
  expect(timeline.place(message('video', 540), 540).timestamp).toBe(540)
})

test('a clock that restarts or jumps is corrected', () => {
  const timeline = new SourceTimeline()
  timeline.place(message('video', 100_000), 0)
  timeline.place(message('video', 101_000), 1_000)
  expect(timeline.place(message('video', 0), 1_040).timestamp).toBe(1_040)
  expect(timeline.place(message('video', 4_000_000), 1_080).timestamp).toBe(1_080)
  expect(timeline.place(message('video', 4_000_040), 1_120).timestamp).toBe(1_120)
})
