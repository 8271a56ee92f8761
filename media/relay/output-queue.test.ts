import { expect, test } from 'vitest'
import type { MediaKind } from '../types.ts'
import { OutputQueue } from './output-queue.ts'
import type { RelayMessage } from './relay-message.ts'

const LIMITS = { maxMs: 2_000, maxBytes: 100_000, maxAudioMs: 10_000 }

function message(kind: MediaKind, timestamp: number, options: Partial<RelayMessage> & { bytes?: number } = {}) {
  const { bytes = 100, ...rest } = options
  const plain = { kind, timestamp, previousTimestamp: timestamp - 20, isSequenceHeader: false, isKeyframe: false }
  return { ...plain, payload: Buffer.alloc(bytes), wire: Buffer.alloc(0), ...rest } satisfies RelayMessage
}

const keyframe = (timestamp: number, bytes = 100) => message('video', timestamp, { isKeyframe: true, bytes })

function drain(queue: OutputQueue): RelayMessage[] {
  const out: RelayMessage[] = []
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) out.push(next)
  return out
}

/** A queue that has already sent a keyframe. */
function running(): OutputQueue {
  const queue = new OutputQueue(LIMITS)
  queue.reset([keyframe(0)])
  queue.shift()
  return queue
}

test('starts with a keyframe, and does not count frames before it as dropped', () => {
  const queue = new OutputQueue(LIMITS)
  queue.reset([])
  expect(queue.push(message('video', 0), 0)).toBe(false)
  expect(queue.push(message('audio', 0), 0)).toBe(false)
  queue.push(keyframe(20), 0)
  queue.push(message('video', 40), 0)
  expect(drain(queue).map(({ kind, timestamp }) => [kind, timestamp])).toEqual([
    ['audio', 0],
    ['video', 20],
    ['video', 40],
  ])
  expect(queue.droppedVideo).toBe(0)
})

test('beyond its duration limit it drops video up to the next keyframe and keeps audio and configurations', () => {
  const queue = running()
  let dropped = false
  for (let time = 20; time <= 2_060; time += 20) {
    dropped = queue.push(message('video', time), 0) || dropped
    queue.push(message('audio', time), 0)
  }
  expect(dropped).toBe(true)
  queue.push(message('video', 2_080, { isSequenceHeader: true }), 0)
  expect(queue.push(message('video', 2_100), 0)).toBe(true)
  const kept = drain(queue)
  expect(kept.filter(({ kind }) => kind === 'audio')).toHaveLength(103)
  expect(kept.filter(({ kind }) => kind === 'video').map(({ isSequenceHeader }) => isSequenceHeader)).toEqual([true])
  queue.push(keyframe(2_500), 0)
  queue.push(message('video', 2_520), 0)
  expect(drain(queue).map(({ timestamp }) => timestamp)).toEqual([2_500, 2_520])
  expect(queue.droppedVideo).toBe(104)
  expect(queue.droppedAudio).toBe(0)
})

test('keeps the newest GOP if it is short enough', () => {
  const queue = running()
  for (let time = 20; time <= 2_040; time += 20) queue.push(time === 1_500 ? keyframe(time) : message('video', time), 0)
  expect(drain(queue)[0]).toMatchObject({ isKeyframe: true, timestamp: 1_500 })
})

test('never exceeds its byte limit, including the buffer of the socket', () => {
  const queue = running()
  for (let time = 20; time < 5_000; time += 20) {
    queue.push(time % 500 === 0 ? keyframe(time, 30_000) : message('video', time, { bytes: 5_000 }), 20_000)
    queue.push(message('audio', time, { bytes: 400 }), 20_000)
    expect(queue.bytes + 20_000).toBeLessThanOrEqual(100_000)
  }
})

test('queues video again only when there is enough room', () => {
  const queue = running()
  for (let time = 20; time <= 2_040; time += 20) {
    queue.push(message('video', time), 0)
    queue.push(message('audio', time), 0)
  }
  expect(queue.awaitsKeyframe).toBe(true)
  expect(queue.push(keyframe(2_060), 0)).toBe(true)
  drain(queue)
  expect(queue.push(keyframe(2_080), 0)).toBe(false)
})

test('audio has a longer duration limit', () => {
  const queue = running()
  for (let time = 20; time <= 12_000; time += 20) queue.push(message('audio', time), 0)
  expect(queue.durationMs).toBeLessThanOrEqual(10_000)
  expect(queue.droppedAudio).toBeGreaterThan(50)
})

test('a replay may be longer than the duration limit', () => {
  const queue = new OutputQueue(LIMITS)
  queue.reset([keyframe(0), ...Array.from({ length: 200 }, (_, index) => message('video', index * 20))])
  expect(queue.push(message('video', 4_020), 0)).toBe(false)
  expect(drain(queue)).toHaveLength(202)
})
