import { expect, test } from 'vitest'
import { senderReport } from '../../testing/rtp-writer.ts'
import { bitrateLimit, nack, pictureLoss, readSenderReports, receiverReport } from './rtcp.ts'
import { Reception } from './reception.ts'
import { textElement } from './header-extension.ts'
import { isRtcp, parseRtp, unwrapRtx } from './rtp-packet.ts'
import { SyncClock } from './sync-clock.ts'
import { Unwrapper } from './unwrapper.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

test.each([
  ['plain', '80e0 0001 00000002 00000003 aabb', { marker: true, payloadType: 96, sequence: 1, payload: hex('aabb') }],
  ['two contributors', '82600001 00000002 00000003 00000004 00000005 cc', { marker: false, payload: hex('cc') }],
  ['an extension', '90600001 00000002 00000003 bede0001 10aa0000 dd', { payload: hex('dd') }],
  ['padding', 'a0600001 00000002 00000003 ee000003', { payload: hex('ee') }],
  ['padding alone', 'a0600001 00000002 00000003 00000004', { payload: hex('') }],
  ['no payload', '80600001 00000002 00000003', { payload: hex('') }],
])('an RTP packet with %s', (_what, bytes, expected) => {
  expect(parseRtp(hex(bytes))).toMatchObject({ timestamp: 2, ssrc: 3, ...expected })
})

test.each([
  ['nothing', ''],
  ['a short header', '80600001 00000002 000000'],
  ['another version', '40600001 00000002 00000003'],
  ['contributors that are not there', '8f600001 00000002 00000003'],
  ['an extension that is not there', '90600001 00000002 00000003 bede'],
  ['an extension that is too long', '90600001 00000002 00000003 bede00ff 00'],
  ['padding of nothing', 'a0600001 00000002 00000003 ee00'],
  ['padding beyond the packet', 'a0600001 00000002 00000003 ee0000ff'],
])('no RTP packet: %s', (_what, bytes) => {
  expect(parseRtp(hex(bytes))).toBeNull()
})

test.each([
  ['one byte', 'bede0003 10aa 00 31 3132 41 7879 000000', { 1: '\u{aa}', 4: 'xy', 3: '12' }],
  ['one byte, with a stop', 'bede0001 10aa f041', { 1: '\u{aa}', 4: null }],
  ['two bytes', '10000002 0101 aa 14 02 7879 00', { 1: '\u{aa}', 20: 'xy', 4: null }],
  ['an element that is longer than the extension', 'bede0001 4f787979', { 4: null }],
  ['another profile', '12340001 40780000', { 4: null }],
])('elements of a header extension: %s', (_what, bytes, expected) => {
  const { extension } = parseRtp(hex(`90600001 00000002 00000003 ${bytes}`))!
  for (const [id, text] of Object.entries(expected)) expect(textElement(extension, Number(id))).toBe(text)
  expect(textElement(extension, null)).toBeNull()
})

test('RTP and RTCP are told apart, also with a marker', () => {
  expect(isRtcp(hex('80c8'))).toBe(true)
  expect(isRtcp(hex('81cd'))).toBe(true)
  expect(isRtcp(hex('80e0'))).toBe(false)
  expect(isRtcp(hex('806f'))).toBe(false)
  expect(isRtcp(hex('80'))).toBe(false)
})

test('a retransmission is the packet that it carries', () => {
  const packet = parseRtp(hex('80e10009 00000002 00000007 ffff aabb'))!
  expect(unwrapRtx(packet, 96, 3)).toMatchObject({ sequence: 65_535, payloadType: 96, ssrc: 3, payload: hex('aabb') })
  expect(unwrapRtx({ ...packet, payload: hex('ffff') }, 96, 3)).toBeNull()
  expect(unwrapRtx({ ...packet, payload: hex('') }, 96, 3)).toBeNull()
})

test('counters go on across their wrap, in order or not', () => {
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

test('requests for packets name them in spans of 17', () => {
  const packet = nack(1, 2, [10, 11, 26, 27, 65_535, 65_536, 65_540])
  expect(packet.subarray(0, 12)).toEqual(hex('81cd0005 00000001 00000002'))
  // 10 with 11 and 26; 27 alone; 65535 with 0 and 4, beyond the wrap.
  expect(packet.subarray(12)).toEqual(hex('000a8001 001b0000 ffff0011'))
})

test('a request names a bounded number of packets', () => {
  const every = Array.from({ length: 10_000 }, (_none, index) => index * 20)
  expect(nack(1, 2, every).length).toBe(12 + 200 * 4)
})

test('a picture loss, and a bitrate limit as mantissa and exponent', () => {
  expect(pictureLoss(1, 2)).toEqual(hex('81ce0002 00000001 00000002'))
  expect(bitrateLimit(1, 8_000_000, [2, 3])).toEqual(
    Buffer.concat([hex('8fce0006 00000001 00000000'), Buffer.from('REMB'), hex('02 17d090 00000002 00000003')]),
  )
  expect(bitrateLimit(1, 200_000, []).readUIntBE(17, 3)).toBe(200_000)
})

test('sender reports are found in compound packets; cut ones are not read', () => {
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

test('a receiver report tells loss, jitter and the last sender report', () => {
  const reception = new Reception(9, 90_000, 65_530)
  // Ten packets, one a millisecond, of which two never come; the line is a steady one.
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

test('more received than expected is no loss, and not below what fits', () => {
  const reception = new Reception(9, 90_000, 1)
  for (let again = 0; again < 5; again += 1) reception.packet(1, 0, 0)
  const block = reception.report(1)
  expect(block).toMatchObject({ fractionLost: 0, cumulativeLost: -4 })
  expect(receiverReport(1, [block]).readIntBE(13, 3)).toBe(-4)
})

test('tracks are placed by arrival, and put together by what sender reports tell', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  expect(video.place(90_000, 5_000)).toBe(1_000)
  // The sound of the same moment came 60 ms before: it is 60 ms early.
  expect(clock.audio.place(48_000, 5_000)).toBe(1_000)
  expect(video.place(93_000, 5_070)).toBe(1_033)
  video.report(1_000_000, 90_000)
  clock.audio.report(1_000_060, 48_000)
  // 60 ms apart: by 2 ms a report.
  expect(clock.audio.place(96_000, 6_000)).toBe(2_002)
  clock.audio.report(1_001_060, 96_000)
  expect(clock.audio.place(144_000, 7_000)).toBe(3_004)
})

test('what is far apart is put right at once, and nothing goes back', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  video.place(0, 0)
  clock.audio.place(0, 0)
  video.report(1_000, 0)
  clock.audio.report(1_200, 0)
  expect(clock.audio.place(48, 1)).toBe(1_201)
  expect(video.place(90, 1)).toBe(1_001)
  const other = new SyncClock()
  const otherVideo = other.newVideo()
  otherVideo.place(0, 0)
  other.audio.place(0, 0)
  otherVideo.report(1_200, 0)
  other.audio.report(1_000, 0)
  expect(otherVideo.place(90, 1)).toBe(1_201)
  expect(otherVideo.place(0, 2)).toBe(1_201)
})

test('another layer goes on where the last one was, by what the reports of both tell', () => {
  const clock = new SyncClock()
  const [low, high] = [clock.newVideo(), clock.newVideo()]
  expect(low.place(0, 0)).toBe(1_000)
  // The same picture of the other layer took 40 ms longer.
  expect(high.place(500_000, 40)).toBe(1_040)
  low.report(7_000, 0)
  high.report(7_000, 500_000)
  clock.use(high)
  expect(high.place(509_000, 140)).toBe(1_100)
})

test('a track that begins to count anew goes on when it arrives', () => {
  const clock = new SyncClock()
  const video = clock.newVideo()
  video.place(0, 0)
  expect(video.place(90_000, 1_000)).toBe(2_000)
  expect(video.place(900_000_000, 1_033)).toBe(2_033)
  expect(video.place(900_003_000, 1_066)).toBe(2_066)
})
