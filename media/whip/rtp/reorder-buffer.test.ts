import { expect, test } from 'vitest'
import { AUDIO_REORDER, ReorderBuffer, VIDEO_REORDER, type OrderedPacket } from './reorder-buffer.ts'
import type { RtpPacket } from './rtp-packet.ts'

const packet = (sequence: number): RtpPacket => ({
  marker: false,
  payloadType: 96,
  sequence,
  timestamp: 0,
  ssrc: 1,
  extension: null,
  payload: Buffer.of(1),
})

/** Packets as `sequence`, or `!sequence` for the first behind a loss. */
const told = (packets: readonly OrderedPacket[]): string =>
  packets.map(({ afterLoss, packet: { sequence } }) => `${afterLoss ? '!' : ''}${sequence}`).join(' ')

function bufferWith(sequences: readonly number[], now = 0, limits = VIDEO_REORDER): ReorderBuffer {
  const buffer = new ReorderBuffer(limits)
  for (const sequence of sequences) buffer.push(sequence, packet(sequence), now)
  return buffer
}

test('packets in order go straight through', () => {
  const buffer = bufferWith([5, 6, 7])
  expect(told(buffer.take(0))).toBe('5 6 7')
  expect(buffer.isWaiting).toBe(false)
  expect(buffer.take(1_000)).toEqual([])
})

test('what is out of order is put in order, and duplicates and latecomers are dropped', () => {
  const buffer = bufferWith([10])
  expect(told(buffer.take(0))).toBe('10')
  buffer.push(12, packet(12), 1)
  expect(buffer.push(12, packet(12), 1)).toBe(false)
  expect(told(buffer.take(1))).toBe('')
  buffer.push(11, packet(11), 2)
  expect(told(buffer.take(2))).toBe('11 12')
  expect(buffer.push(10, packet(10), 3)).toBe(false)
  expect(buffer.recovered).toBe(0)
})

test('what is missing is asked for after a grace, again by the round trip, and so many times', () => {
  const buffer = bufferWith([1, 2, 5], 100)
  buffer.take(100)
  expect(buffer.due(105)).toEqual([])
  expect(buffer.due(110)).toEqual([3, 4])
  expect(buffer.due(130)).toEqual([])
  expect(buffer.due(160)).toEqual([3, 4])
  buffer.push(3, packet(3), 170)
  expect(told(buffer.take(170))).toBe('3')
  // Timed from the first request: an answer takes 60 ms.
  expect(buffer.due(219)).toEqual([])
  const times = [220, 280, 340, 400, 460, 520, 580, 640, 700, 760].map((now) => buffer.due(now).length)
  expect(times).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
  expect(buffer.recovered).toBe(1)
})

/** Loses every tenth packet of a line on which an answer takes so long, and answers every request. Counts on a scripted clock. */
function lossyLine(roundTripMs: (now: number) => number, packets = 1_000) {
  const buffer = new ReorderBuffer(VIDEO_REORDER)
  const answers: { at: number; sequence: number }[] = []
  const lossesAt: number[] = []
  for (let now = 0; now < packets * 10 + 2_000; now += 5) {
    for (const { sequence } of answers.filter(({ at }) => at === now)) buffer.push(sequence, packet(sequence), now)
    const sequence = now / 10
    if (sequence % 10 !== 5 && Number.isInteger(sequence)) buffer.push(sequence, packet(sequence), now)
    if (buffer.take(now).some(({ afterLoss }) => afterLoss)) lossesAt.push(now)
    for (const due of buffer.due(now)) answers.push({ at: now + roundTripMs(now), sequence: due })
  }
  return { lossesAt, requests: buffer.requested, lost: buffer.lost }
}

test.each([20, 150, 300, 500])('where an answer takes %i ms, nothing is lost', (roundTripMs) => {
  expect(lossyLine(() => roundTripMs)).toMatchObject({ lossesAt: [], lost: 0 })
})

test('a round trip that is longer than the interval of requests is learned, and requests become rarer', () => {
  const { requests } = lossyLine(() => 150)
  expect(requests).toBeLessThan(1.2 * 120)
})

test('a line that becomes slow is learned from the answers that come too late', () => {
  const { lossesAt } = lossyLine((now) => (now < 3_000 ? 30 : 400))
  expect(lossesAt.length).toBeGreaterThan(0)
  expect(Math.max(...lossesAt)).toBeLessThan(4_000)
})

test('a client that answers nothing is waited for longer once, not again', () => {
  const buffer = bufferWith([0, 2], 0)
  const givenUpAt: number[] = []
  for (let now = 5; now < 2_000; now += 5) {
    buffer.push(2 + now / 5 + (now >= 1_000 ? 1 : 0), packet(now), now)
    buffer.due(now)
    if (buffer.take(now).some(({ afterLoss }) => afterLoss)) givenUpAt.push(now)
  }
  expect(givenUpAt).toEqual([600, 1_250])
})

test('a short round trip is learned from answers', () => {
  const buffer = bufferWith([0])
  let now = 0
  for (let sequence = 2; sequence < 60; sequence += 2) {
    buffer.push(sequence, packet(sequence), now)
    expect(buffer.due((now += 10))).toEqual([sequence - 1])
    buffer.push(sequence - 1, packet(sequence - 1), (now += 5))
    buffer.take(now)
  }
  buffer.push(99, packet(99), now)
  expect(buffer.due(now + 10).length).toBe(40)
  expect(buffer.due(now + 29)).toEqual([])
  expect(buffer.due(now + 30).length).toBe(40)
})

test('what does not come is given up, and what is behind it marked', () => {
  const buffer = bufferWith([1, 3, 4, 6], 0)
  for (let count = 0; count < 6; count += 1) buffer.push(7 + count, packet(7 + count), (count + 1) * 100)
  expect(told(buffer.take(599))).toBe('1')
  expect(told(buffer.take(600))).toBe('!3 4 !6 7 8 9 10 11 12')
  expect(buffer.lost).toBe(2)
  expect(buffer.isWaiting).toBe(false)
  expect(buffer.push(2, packet(2), 601)).toBe(false)
})

/** Takes what is ready every 20 ms, after `from` and up to `to`. */
function poll(buffer: ReorderBuffer, from: number, to: number): string {
  const taken: OrderedPacket[] = []
  for (let now = from + 20; now < to; now += 20) taken.push(...buffer.take(now))
  return told([...taken, ...buffer.take(to)])
}

test('while no packet comes at all, nothing is given up for a second', () => {
  const buffer = bufferWith([1, 3], 0)
  expect(poll(buffer, 0, 600)).toBe('1')
  buffer.push(2, packet(2), 601)
  expect(told(buffer.take(601))).toBe('2 3')
  buffer.push(5, packet(5), 700)
  expect(poll(buffer, 700, 1_699)).toBe('')
  expect(told(buffer.take(1_700))).toBe('!5')
})

test('as long as answers come, the rest is waited for, but not longer than a second', () => {
  const buffer = bufferWith([0, 100], 0)
  buffer.take(0)
  buffer.due(10)
  for (let sequence = 99; sequence > 95; sequence -= 1) {
    const now = (100 - sequence) * 200
    expect(poll(buffer, now - 200, now)).toBe('')
    buffer.push(sequence, packet(sequence), now)
  }
  expect(poll(buffer, 800, 999)).toBe('')
  expect(told(buffer.take(1_000))).toBe('!96 97 98 99 100')
})

test('a standstill of this process gives nothing up: the answers wait to be read', () => {
  const buffer = bufferWith([1, 3], 0)
  expect(poll(buffer, 0, 100)).toBe('1')
  expect(told(buffer.take(2_500))).toBe('')
  buffer.push(2, packet(2), 2_500)
  expect(told(buffer.take(2_500))).toBe('2 3')
})

test('sound is not asked for, and waited for a little', () => {
  const buffer = bufferWith([1, 3], 0, AUDIO_REORDER)
  expect(told(buffer.take(79))).toBe('1')
  expect(buffer.due(79)).toEqual([])
  expect(told(buffer.take(80))).toBe('!3')
})

test('a jump of the numbers is another stream', () => {
  const buffer = bufferWith([1, 2])
  buffer.take(0)
  buffer.push(50_000, packet(50_000), 1)
  buffer.push(50_001, packet(50_001), 1)
  expect(told(buffer.take(1))).toBe('!50000 50001')
  expect(buffer.isWaiting).toBe(false)
})

test('no more is held than fits', () => {
  const buffer = new ReorderBuffer({ ...VIDEO_REORDER, mostHeld: 10 })
  buffer.push(0, packet(0), 0)
  buffer.take(0)
  for (let sequence = 2; sequence <= 11; sequence += 1) buffer.push(sequence, packet(sequence), 1)
  expect(buffer.take(1)).toEqual([])
  buffer.push(12, packet(12), 1)
  expect(told(buffer.take(1))).toBe('!2 3 4 5 6 7 8 9 10 11 12')
})
