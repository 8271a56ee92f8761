import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TimestampNormalizer } from './timestamp-normalizer.ts'

const normalize = (frames: [string, number][]): number[] => {
  const normalizer = new TimestampNormalizer()
  return frames.map(([track, timestamp]) => normalizer.frame(track, timestamp >>> 0))
}

describe('TimestampNormalizer', () => {
  test('does not change an ordinary stream, including its jitter', () => {
    const times = [0, 33, 21, 66, 60, 40, 100, 3_600_000]
    expect(normalize(times.map((time) => ['video', time]))).toEqual(times)
  })

  test('continues across 0xFFFFFF and the 32-bit wrap', () => {
    const times = [0xff_fff0, 0x100_0010, 0x7fff_0000, 0xffff_fff0, 0x1_0000_0010, 0x1_8000_0010, 0x2_0000_0005]
    expect(normalize(times.map((time) => ['video', time]))).toEqual(times)
  })

  test('continues when the clock restarts, and keeps both tracks in sync', () => {
    const restarted: [string, number][] = [
      ['video', 500_000],
      ['audio', 500_010],
      ['video', 500_033],
      ['video', 0],
      ['audio', 12],
      ['video', 33],
      ['audio', 35],
    ]
    expect(normalize(restarted)).toEqual([500_000, 500_010, 500_033, 500_033, 500_045, 500_066, 500_068])
  })

  test('keeps the offset between tracks', () => {
    const frames = Array.from({ length: 10 }, (_, index): [string, number] => [
      index % 2 === 0 ? 'video' : 'audio',
      index * 20 + (index % 2 === 0 ? 0 : 8_000),
    ])
    expect(normalize(frames)).toEqual(frames.map(([, time]) => time))
  })

  test('sequence headers and data do not affect frames', () => {
    const normalizer = new TimestampNormalizer()
    expect(normalizer.nonFrame('video', 0)).toBe(0)
    expect(normalizer.frame('video', 900_000)).toBe(900_000)
    expect(normalizer.nonFrame('video', 0)).toBe(900_000)
    expect(normalizer.nonFrame('video', 900_020)).toBe(900_020)
    expect(normalizer.frame('video', 900_033)).toBe(900_033)
    expect(normalizer.discontinuities).toBe(0)
  })

  test('moves a sequence header to the end of its track, even if that track lags', () => {
    const normalizer = new TimestampNormalizer()
    expect([normalizer.frame('video', 5_000), normalizer.frame('audio', 9_000)]).toEqual([5_000, 9_000])
    expect(normalizer.nonFrame('video', 5_033)).toBe(5_033)
    expect(normalizer.nonFrame('video', 0)).toBe(5_000)
    expect(normalizer.frame('video', 5_033)).toBe(5_033)
    // Data belongs to no track and gets the newest timestamp.
    expect(normalizer.nonFrame('data', 0)).toBe(9_000)
  })

  test('keeps the timestamps of timed headers, also before the first frame of their track', () => {
    const normalizer = new TimestampNormalizer(true)
    expect(normalizer.frame('video', 5_000)).toBe(5_000)
    expect(normalizer.nonFrame('audio', 20)).toBe(20)
    expect(normalizer.frame('audio', 20)).toBe(20)
  })

  test('handles a wrap between the sequence header and the first frame', () => {
    const normalizer = new TimestampNormalizer()
    expect(normalizer.nonFrame('video', 0xffff_fff0)).toBe(0xffff_fff0)
    expect(normalizer.frame('video', 0x10)).toBe(0x1_0000_0010)
  })

  test('no track goes back by more than a second for arbitrary input', () => {
    const frame = fc.tuple(fc.constantFrom('audio', 'video'), fc.nat(0xffff_ffff))
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 50 }), (frames) => {
        const last = new Map<string, number>()
        normalize(frames).forEach((value, index) => {
          const track = frames[index]![0]
          expect(value).toBeGreaterThanOrEqual(Math.max(0, (last.get(track) ?? 0) - 1_000))
          last.set(track, value)
        })
      }),
    )
  })
})
