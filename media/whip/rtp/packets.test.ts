import { expect, test } from 'vitest'
import { senderReport } from '../../testing/rtp-writer.ts'
import { remb, nack, pli, readSenderReports, receiverReport } from './rtcp.ts'
import { SourceStatistics } from './source-statistics.ts'
import { textElement } from './header-extension.ts'
import { isRtcp, parseRtp, unwrapRtx } from './rtp-packet.ts'
import { SyncClock } from './sync-clock.ts'
import { Unwrapper } from './unwrapper.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

test.each([
  ['plain', '80e0 0001 00000002 00000003 aabb', { marker: true, payloadType: 96, sequence: 1, payload: hex('aabb') }],
  ['two CSRCs', '82600001 00000002 00000003 00000004 00000005 cc', { marker: false, payload: hex('cc') }],
  ['a header extension', '90600001 00000002 00000003 bede0001 10aa0000 dd', { payload: hex('dd') }],
  ['padding', 'a0600001 00000002 00000003 ee000003', { payload: hex('ee') }],
  ['only padding', 'a0600001 00000002 00000003 00000004', { payload: hex('') }],
  ['no payload', '80600001 00000002 00000003', { payload: hex('') }],
])('parses an RTP packet with %s', (_what, bytes, expected) => {
  expect(parseRtp(hex(bytes))).toMatchObject({ timestamp: 2, ssrc: 3, ...expected })
})

test.each([
  ['an empty packet', ''],
  ['a short header', '80600001 00000002 000000'],
  ['another version', '40600001 00000002 00000003'],
  ['missing CSRCs', '8f600001 00000002 00000003'],
  ['a truncated header extension', '90600001 00000002 00000003 bede'],
  ['an extension that is too long', '90600001 00000002 00000003 bede00ff 00'],
  ['padding of length 0', 'a0600001 00000002 00000003 ee00'],
  ['padding longer than the packet', 'a0600001 00000002 00000003 ee0000ff'],
])('rejects %s as RTP', (_what, bytes) => {
  expect(parseRtp(hex(bytes))).toBeNull()
})

test.each([
  ['the one-byte form', 'bede0003 10aa 00 31 3132 41 7879 000000', { 1: '\u{aa}', 4: 'xy', 3: '12' }],
  ['the one-byte form with the stop id', 'bede0001 10aa f041', { 1: '\u{aa}', 4: null }],
  ['the two-byte form', '10000002 0101 aa 14 02 7879 00', { 1: '\u{aa}', 20: 'xy', 4: null }],
  ['an element that is longer than the extension', 'bede0001 4f787979', { 4: null }],
  ['another profile', '12340001 40780000', { 4: null }],
])('reads header extension elements: %s', (_what, bytes, expected) => {
  const { extension } = parseRtp(hex(`90600001 00000002 00000003 ${bytes}`))!
  for (const [id, text] of Object.entries(expected)) expect(textElement(extension, Number(id))).toBe(text)
  expect(textElement(extension, null)).toBeNull()
})

test('distinguishes RTP and RTCP, also with the marker bit', () => {
  expect(isRtcp(hex('80c8'))).toBe(true)
  expect(isRtcp(hex('81cd'))).toBe(true)
  expect(isRtcp(hex('80e0'))).toBe(false)
  expect(isRtcp(hex('806f'))).toBe(false)
  expect(isRtcp(hex('80'))).toBe(false)
})

test('unwraps the original packet of an RTX packet', () => {
  const packet = parseRtp(hex('80e10009 00000002 00000007 ffff aabb'))!
  expect(unwrapRtx(packet, 96, 3)).toMatchObject({ sequence: 65_535, payloadType: 96, ssrc: 3, payload: hex('aabb') })
  expect(unwrapRtx({ ...packet, payload: hex('ffff') }, 96, 3)).toBeNull()
  expect(unwrapRtx({ ...packet, payload: hex('') }, 96, 3)).toBeNull()
})

test('unwraps counters in order and out of order', () => {
  const sequences = new Unwrapper(16)
  expect([65_533, 65_535, 65_534, 0, 2, 65_535, 1].map((value) => sequences.unwrap(value))).toEqual([
    65_533, 65_535, 65_534, 65_536, 65_538, 65_535, 65_537,
  ])
  const times = new Unwrapper(32)
  expect(times.unwrap(2 ** 32 - 3_000)).toBe(2 ** 32 - 3_000)
  expect(times.unwrap(0)).toBe(2 ** 32)
  expect(times.unwrap(2 ** 31 - 1)).toBe(2 ** 32 + 2 ** 31 - 1)
  expect(times.peek(0)).toBe(2 ** 32)
  expect(times.unwrap(2 ** 32 - 2)).toBe(2 ** 33 - 2)
  const early = new Unwrapper(16)
  early.unwrap(2)
  expect(early.unwrap(65_535)).toBe(-1)
})

test('encodes 17 sequence numbers per NACK entry', () => {
  const packet = nack(1, 2, [10, 11, 26, 27, 65_535, 65_536, 65_540])
  expect(packet.subarray(0, 12)).toEqual(hex('81cd0005 00000001 00000002'))
  // Entries: 10 with 11 and 26; 27; 65535 with 0 and 4 after the wrap.
  expect(packet.subarray(12)).toEqual(hex('000a8001 001b0000 ffff0011'))
})

test('limits the number of entries of a NACK', () => {
  const every = Array.from({ length: 10_000 }, (_none, index) => index * 20)
  expect(nack(1, 2, every).length).toBe(12 + 200 * 4)
})

test('encodes PLI, and REMB with mantissa and exponent', () => {
  expect(pli(1, 2)).toEqual(hex('81ce0002 00000001 00000002'))
  expect(remb(1, 8_000_000, [2, 3])).toEqual(
    Buffer.concat([hex('8fce0006 00000001 00000000'), Buffer.from('REMB'), hex('02 17d090 00000002 00000003')]),
  )
  expect(remb(1, 200_000, []).readUIntBE(17, 3)).toBe(200_000)
})

test('reads sender reports in compound packets, and ignores truncated ones', () => {
  const report = senderReport(7, 3_900_000_000_250, 90_000)
  const compound = Buffer.concat([receiverReport(1, []), report, hex('80ca')])
  expect(readSenderReports(compound)).toEqual([
    {
      ssrc: 7,
      ntpMs: 3_900_000_000_250,
      ntpMiddle: ((3_900_000_000 & 0xffff) * 65_536 + 0x4000) >>> 0,
      rtpTimestamp: 90_000,
    },
  ])
  expect(readSenderReports(report.subarray(0, 27))).toEqual([])
  expect(readSenderReports(hex('80c80001 00000007'))).toEqual([])
  expect(readSenderReports(hex('00c80006'))).toEqual([])
})

test('reports loss, jitter and the last sender report', () => {
  const reception = new SourceStatistics(9, 90_000, 65_530)
  // Ten packets, one per millisecond, without jitter. Two are lost.
  for (const index of [0, 1, 2, 4, 5, 6, 8, 9]) reception.packet(65_530 + index, index * 90, index)
  reception.senderReport({ ssrc: 9, ntpMs: 0, ntpMiddle: 0x1234_5678, rtpTimestamp: 0 }, 9)
  const block = reception.report(509)
  expect(block).toEqual({
    ssrc: 9,
    fractionLost: 51,
    cumulativeLost: 2,
    highestSequence: 65_539,
    jitter: 0,
    lastReport: 0x1234_5678,
    delaySinceLastReport: 32_768,
  })
  reception.packet(65_540, 900, 60)
  expect(reception.report(600)).toMatchObject({ fractionLost: 0, cumulativeLost: 2, jitter: (50 * 90) / 16 })
  const bytes = receiverReport(1, [block])
  expect(bytes.subarray(0, 32)).toEqual(hex('81c90007 00000001 00000009 33000002 00010003 00000000 12345678 00008000'))
  expect(bytes.length % 4).toBe(0)
})

test('reports a negative loss if duplicates arrive', () => {
  const reception = new SourceStatistics(9, 90_000, 1)
  for (let again = 0; again < 5; again += 1) reception.packet(1, 0, 0)
  const block = reception.report(1)
  expect(block).toMatchObject({ fractionLost: 0, cumulativeLost: -4 })
  expect(receiverReport(1, [block]).readIntBE(13, 3)).toBe(-4)
})

test('starts tracks at their arrival, and aligns them by sender reports', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  expect(video.sessionTime(90_000, 5_000)).toBe(1_000)
  // By the sender's clock this audio is 60 ms later than the video, so the audio is 60 ms early in session time.
  expect(clock.audio.sessionTime(48_000, 5_000)).toBe(1_000)
  expect(video.sessionTime(93_000, 5_070)).toBe(1_033)
  video.report(1_000_000, 90_000)
  clock.audio.report(1_000_060, 48_000)
  // The offset of 60 ms is corrected by 2 ms per report.
  expect(clock.audio.sessionTime(96_000, 6_000)).toBe(2_002)
  clock.audio.report(1_001_060, 96_000)
  expect(clock.audio.sessionTime(144_000, 7_000)).toBe(3_004)
})

test('corrects a large offset at once, and never moves time back', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  video.sessionTime(0, 0)
  clock.audio.sessionTime(0, 0)
  video.report(1_000, 0)
  clock.audio.report(1_200, 0)
  expect(clock.audio.sessionTime(48, 1)).toBe(1_201)
  expect(video.sessionTime(90, 1)).toBe(1_001)
  const other = new SyncClock()
  const otherVideo = other.newVideo()
  otherVideo.sessionTime(0, 0)
  other.audio.sessionTime(0, 0)
  otherVideo.report(1_200, 0)
  other.audio.report(1_000, 0)
  expect(otherVideo.sessionTime(90, 1)).toBe(1_201)
  expect(otherVideo.sessionTime(0, 2)).toBe(1_201)
})

test('aligns another layer with the previous one by sender reports', () => {
  const clock = new SyncClock()
  const [low, high] = [clock.newVideo(), clock.newVideo()]
  expect(low.sessionTime(0, 0)).toBe(1_000)
  // The same frame of the other layer arrived 40 ms later.
  expect(high.sessionTime(500_000, 40)).toBe(1_040)
  low.report(7_000, 0)
  high.report(7_000, 500_000)
  clock.switchVideo(high)
  expect(high.sessionTime(509_000, 140)).toBe(1_100)
})

test('continues at the arrival time after a timestamp reset', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  video.sessionTime(0, 0)
  expect(video.sessionTime(90_000, 1_000)).toBe(2_000)
  expect(video.sessionTime(900_000_000, 1_033)).toBe(2_033)
  expect(video.sessionTime(900_003_000, 1_066)).toBe(2_066)
})
