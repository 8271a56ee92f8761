import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Timeline } from './timeline.ts'

const place = (frames: [string, number][]): number[] => {
  const timeline = new Timeline()
  return frames.map(([track, wire]) => timeline.frame(track, wire >>> 0))
}

describe('timeline', () => {
  test('leaves an ordinary stream as it is, jitter included', () => {
    const wire = [0, 33, 21, 66, 60, 40, 100, 3_600_000]
    expect(place(wire.map((time) => ['video', time]))).toEqual(wire)
  })

  test('goes on across 0xFFFFFF and the 32-bit wrap', () => {
    const times = [0xff_fff0, 0x100_0010, 0x7fff_0000, 0xffff_fff0, 0x1_0000_0010, 0x1_8000_0010, 0x2_0000_0005]
    expect(place(times.map((time) => ['video', time]))).toEqual(times)
  })

  test('a clock that restarts continues the line, both tracks in step', () => {
    const restarted: [string, number][] = [
      ['video', 500_000],
      ['audio', 500_010],
      ['video', 500_033],
      ['video', 0],
      ['audio', 12],
      ['video', 33],
      ['audio', 35],
    ]
    expect(place(restarted)).toEqual([500_000, 500_010, 500_033, 500_033, 500_045, 500_066, 500_068])
  })

  test('tracks that lie apart stay apart', () => {
    const frames = Array.from({ length: 10 }, (_, index): [string, number] => [
      index % 2 === 0 ? 'video' : 'audio',
      index * 20 + (index % 2 === 0 ? 0 : 8_000),
    ])
    expect(place(frames)).toEqual(frames.map(([, time]) => time))
  })

  test('headers and data do not move the line', () => {
    const timeline = new Timeline()
    expect(timeline.aside('video', 0)).toBe(0)
    expect(timeline.frame('video', 900_000)).toBe(900_000)
    expect(timeline.aside('video', 0)).toBe(900_000)
    expect(timeline.aside('video', 900_020)).toBe(900_020)
    expect(timeline.frame('video', 900_033)).toBe(900_033)
    expect(timeline.discontinuities).toBe(0)
  })

  test('a header goes to the end of its own track, even if that track lags behind', () => {
    const timeline = new Timeline()
    expect([timeline.frame('video', 5_000), timeline.frame('audio', 9_000)]).toEqual([5_000, 9_000])
    expect(timeline.aside('video', 5_033)).toBe(5_033)
    expect(timeline.aside('video', 0)).toBe(5_000)
    expect(timeline.frame('video', 5_033)).toBe(5_033)
    // Of data nobody knows where it belongs: it goes with what is newest.
    expect(timeline.aside('data', 0)).toBe(9_000)
  })

  test('headers that are timed keep their time, before any frame of their track too', () => {
    const timeline = new Timeline(true)
    expect(timeline.frame('video', 5_000)).toBe(5_000)
    expect(timeline.aside('audio', 20)).toBe(20)
    expect(timeline.frame('audio', 20)).toBe(20)
  })

  test('a wrap between the header and the first frame', () => {
    const timeline = new Timeline()
    expect(timeline.aside('video', 0xffff_fff0)).toBe(0xffff_fff0)
    expect(timeline.frame('video', 0x10)).toBe(0x1_0000_0010)
  })

  test('no track ever goes back by more than a second, whatever comes', () => {
    const frame = fc.tuple(fc.constantFrom('audio', 'video'), fc.nat(0xffff_ffff))
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 50 }), (frames) => {
        const last = new Map<string, number>()
        place(frames).forEach((value, index) => {
          const track = frames[index]![0]
          expect(value).toBeGreaterThanOrEqual(Math.max(0, (last.get(track) ?? 0) - 1_000))
          last.set(track, value)
        })
      }),
    )
  })
})
