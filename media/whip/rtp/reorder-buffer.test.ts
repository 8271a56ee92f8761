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

/** Sequence numbers as text. `!` marks the first packet after a loss. */
const sequencesOf = (packets: readonly OrderedPacket[]): string =>
  packets.map(({ afterLoss, packet: { sequence } }) => `${afterLoss ? '!' : ''}${sequence}`).join(' ')

function bufferWith(sequences: readonly number[], now = 0, limits = VIDEO_REORDER): ReorderBuffer {
  const buffer = new ReorderBuffer(limits)
  for (const sequence of sequences) buffer.push(sequence, packet(sequence), now)
  return buffer
}

test('delivers packets in order at once', () => {
  const buffer = bufferWith([5, 6, 7])
  expect(sequencesOf(buffer.take(0))).toBe('5 6 7')
  expect(buffer.isWaiting).toBe(false)
  expect(buffer.take(1_000)).toEqual([])
})

test('reorders packets, and drops duplicates and late packets', () => {
  const buffer = bufferWith([10])
  expect(sequencesOf(buffer.take(0))).toBe('10')
  buffer.push(12, packet(12), 1)
  expect(buffer.push(12, packet(12), 1)).toBe(false)
  expect(sequencesOf(buffer.take(1))).toBe('')
  buffer.push(11, packet(11), 2)
  expect(sequencesOf(buffer.take(2))).toBe('11 12')
  expect(buffer.push(10, packet(10), 3)).toBe(false)
  expect(buffer.recovered).toBe(0)
})

test('requests a missing packet after a delay, repeats it per RTT, and stops after ten requests', () => {
  const buffer = bufferWith([1, 2, 5], 100)
  buffer.take(100)
  expect(buffer.dueNacks(105)).toEqual([])
  expect(buffer.dueNacks(110)).toEqual([3, 4])
  expect(buffer.dueNacks(130)).toEqual([])
  expect(buffer.dueNacks(160)).toEqual([3, 4])
  buffer.push(3, packet(3), 170)
  expect(sequencesOf(buffer.take(170))).toBe('3')
  // The RTT is 60 ms, measured from the first request.
  expect(buffer.dueNacks(219)).toEqual([])
  const times = [220, 280, 340, 400, 460, 520, 580, 640, 700, 760].map((now) => buffer.dueNacks(now).length)
  expect(times).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 0, 0])
  expect(buffer.recovered).toBe(1)
})

/** Simulates a network that loses every tenth packet. Every request is answered after the RTT. */
function simulateLoss(roundTripMs: (now: number) => number, packets = 1_000) {
  const buffer = new ReorderBuffer(VIDEO_REORDER)
  const answers: { at: number; sequence: number }[] = []
  const lossesAt: number[] = []
  for (let now = 0; now < packets * 10 + 2_000; now += 5) {
    for (const { sequence } of answers.filter(({ at }) => at === now)) buffer.push(sequence, packet(sequence), now)
    const sequence = now / 10
    if (sequence % 10 !== 5 && Number.isInteger(sequence)) buffer.push(sequence, packet(sequence), now)
    if (buffer.take(now).some(({ afterLoss }) => afterLoss)) lossesAt.push(now)
    for (const due of buffer.dueNacks(now)) answers.push({ at: now + roundTripMs(now), sequence: due })
  }
  return { lossesAt, requests: buffer.requested, lost: buffer.lost }
}

test.each([20, 150, 300, 500])('recovers every packet with an RTT of %i ms', (roundTripMs) => {
  expect(simulateLoss(() => roundTripMs)).toMatchObject({ lossesAt: [], lost: 0 })
})

test('requests less often when the RTT is longer than the retry interval', () => {
  const { requests } = simulateLoss(() => 150)
  expect(requests).toBeLessThan(1.2 * 120)
})

test('learns a longer RTT from retransmissions that come too late', () => {
  const { lossesAt } = simulateLoss((now) => (now < 3_000 ? 30 : 400))
  expect(lossesAt.length).toBeGreaterThan(0)
  expect(Math.max(...lossesAt)).toBeLessThan(4_000)
})

test('uses the long initial wait only for the first loss', () => {
  const buffer = bufferWith([0, 2], 0)
  const lossesAt: number[] = []
  for (let now = 5; now < 2_000; now += 5) {
    buffer.push(2 + now / 5 + (now >= 1_000 ? 1 : 0), packet(now), now)
    buffer.dueNacks(now)
    if (buffer.take(now).some(({ afterLoss }) => afterLoss)) lossesAt.push(now)
  }
  expect(lossesAt).toEqual([600, 1_250])
})

test('learns a short RTT from retransmissions', () => {
  const buffer = bufferWith([0])
  let now = 0
  for (let sequence = 2; sequence < 60; sequence += 2) {
    buffer.push(sequence, packet(sequence), now)
    expect(buffer.dueNacks((now += 10))).toEqual([sequence - 1])
    buffer.push(sequence - 1, packet(sequence - 1), (now += 5))
    buffer.take(now)
  }
  buffer.push(99, packet(99), now)
  expect(buffer.dueNacks(now + 10).length).toBe(40)
  expect(buffer.dueNacks(now + 29)).toEqual([])
  expect(buffer.dueNacks(now + 30).length).toBe(40)
})

test('gives up missing packets, and marks the packet after them', () => {
  const buffer = bufferWith([1, 3, 4, 6], 0)
  for (let count = 0; count < 6; count += 1) buffer.push(7 + count, packet(7 + count), (count + 1) * 100)
  expect(sequencesOf(buffer.take(599))).toBe('1')
  expect(sequencesOf(buffer.take(600))).toBe('!3 4 !6 7 8 9 10 11 12')
  expect(buffer.lost).toBe(2)
  expect(buffer.isWaiting).toBe(false)
  expect(buffer.push(2, packet(2), 601)).toBe(false)
})

/** Calls `take` every 20 ms, after `from` and up to `to`. */
function poll(buffer: ReorderBuffer, from: number, to: number): string {
  const taken: OrderedPacket[] = []
  for (let now = from + 20; now < to; now += 20) taken.push(...buffer.take(now))
  return sequencesOf([...taken, ...buffer.take(to)])
}

test('waits for up to one second while no packets arrive', () => {
  const buffer = bufferWith([1, 3], 0)
  expect(poll(buffer, 0, 600)).toBe('1')
  buffer.push(2, packet(2), 601)
  expect(sequencesOf(buffer.take(601))).toBe('2 3')
  buffer.push(5, packet(5), 700)
  expect(poll(buffer, 700, 1_699)).toBe('')
  expect(sequencesOf(buffer.take(1_700))).toBe('!5')
})

test('extends the wait while retransmissions arrive, up to one second', () => {
  const buffer = bufferWith([0, 100], 0)
  buffer.take(0)
  buffer.dueNacks(10)
  for (let sequence = 99; sequence > 95; sequence -= 1) {
    const now = (100 - sequence) * 200
    expect(poll(buffer, now - 200, now)).toBe('')
    buffer.push(sequence, packet(sequence), now)
  }
  expect(poll(buffer, 800, 999)).toBe('')
  expect(sequencesOf(buffer.take(1_000))).toBe('!96 97 98 99 100')
})

test('gives nothing up after this process was blocked', () => {
  const buffer = bufferWith([1, 3], 0)
  expect(poll(buffer, 0, 100)).toBe('1')
  expect(sequencesOf(buffer.take(2_500))).toBe('')
  buffer.push(2, packet(2), 2_500)
  expect(sequencesOf(buffer.take(2_500))).toBe('2 3')
})

test('waits briefly for audio without requesting it', () => {
  const buffer = bufferWith([1, 3], 0, AUDIO_REORDER)
  expect(sequencesOf(buffer.take(79))).toBe('1')
  expect(buffer.dueNacks(79)).toEqual([])
  expect(sequencesOf(buffer.take(80))).toBe('!3')
})

test('treats a jump of the sequence numbers as a new stream', () => {
  const buffer = bufferWith([1, 2])
  buffer.take(0)
  buffer.push(50_000, packet(50_000), 1)
  buffer.push(50_001, packet(50_001), 1)
  expect(sequencesOf(buffer.take(1))).toBe('!50000 50001')
  expect(buffer.isWaiting).toBe(false)
})

test('gives up missing packets when too many are held', () => {
  const buffer = new ReorderBuffer({ ...VIDEO_REORDER, maxHeld: 10 })
  buffer.push(0, packet(0), 0)
  buffer.take(0)
  for (let sequence = 2; sequence <= 11; sequence += 1) buffer.push(sequence, packet(sequence), 1)
  expect(buffer.take(1)).toEqual([])
  buffer.push(12, packet(12), 1)
  expect(sequencesOf(buffer.take(1))).toBe('!2 3 4 5 6 7 8 9 10 11 12')
})
