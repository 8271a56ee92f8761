import { expect, test } from 'vitest'
import { Progress } from './progress.ts'

test('RTMP acknowledgements count across the 32-bit wrap', () => {
  const progress = new Progress(0)
  progress.beginMedia(0)
  progress.sent(0xffff_ff00)
  progress.rtmp(0xffff_0000, 1)
  expect(progress.acknowledgedBytes).toBe(0xffff_0000)
  progress.sent(0x20_0000)
  progress.rtmp(0x0010_0000, 2)
  expect(progress.acknowledgedBytes).toBe(0x1_0010_0000)
})

test('a server that starts its count anew, as nginx-rtmp does at 0xf0000000, is still making progress', () => {
  const progress = new Progress(0)
  progress.beginMedia(0)
  progress.sent(0xf000_0000)
  progress.rtmp(0xefe0_0000, 1)
  progress.rtmp(0xeff0_0000, 2)
  progress.sent(0x10_0000)
  progress.rtmp(0x0008_0000, 9_000)
  expect(progress.acknowledgedBytes).toBeLessThanOrEqual(progress.sentBytes)
  expect(progress.stillFor(1_000, 9_500)).toBe(500)
})

test('media has arrived only when something behind Publish.Start was acknowledged', () => {
  const progress = new Progress(0)
  progress.sent(3_500)
  progress.tcp(3_500, 0, 1)
  expect(progress.mediaArrived).toBe(false)
  progress.beginMedia(2)
  expect(progress.needsTcp(2)).toBe(false)
  progress.sent(100)
  expect(progress.needsTcp(3)).toBe(true)
  progress.tcp(3_600, 100, 4)
  expect(progress.mediaArrived).toBe(false)
  progress.tcp(3_600, 50, 5)
  expect(progress.mediaArrived).toBe(true)
})

test('stalled means: something is on its way, and looks at TCP see it lie', () => {
  const progress = new Progress(0)
  progress.beginMedia(0)
  progress.sent(1_000)
  progress.tcp(1_000, 400, 100)
  expect(progress.isStalled(0, 20_000, 10_000)).toBe(false)
  progress.tcp(1_000, 400, 20_000)
  expect(progress.isStalled(0, 20_000, 10_000)).toBe(true)
  progress.tcp(1_000, 300, 20_001)
  expect(progress.isStalled(0, 20_002, 10_000)).toBe(false)
})

test('nothing to send is no stall, however long', () => {
  const progress = new Progress(0)
  progress.beginMedia(0)
  progress.sent(1_000)
  progress.tcp(1_000, 400, 100)
  progress.tcp(1_000, 0, 200)
  for (let now = 1_000; now < 60_000; now += 1_000) expect(progress.isStalled(0, now, 10_000)).toBe(false)
})

test('a server that acknowledges is not asked for by TCP', () => {
  const progress = new Progress(0)
  progress.beginMedia(0)
  progress.sent(2_000_000)
  progress.rtmp(1_000_000, 1_000)
  expect(progress.needsTcp(5_999)).toBe(false)
  expect(progress.needsTcp(6_000)).toBe(true)
})

/** A server that has acknowledged each of five windows of 500,000 bytes. */
function habitual(trustsSilence = true): Progress {
  const progress = new Progress(0, trustsSilence)
  progress.beginMedia(0)
  for (let window = 1; window <= 5; window++) {
    progress.sent(500_000)
    progress.rtmp(window * 500_000, window * 1_000)
  }
  return progress
}

test('when acknowledgements that came by habit are missing, the kernel that takes bytes is no progress', () => {
  const progress = habitual()
  progress.sent(2_000_000)
  for (let now = 6_000; now <= 15_000; now += 1_000) progress.tcp(progress.sentBytes, 0, now)
  expect(progress.isStalled(0, 15_001, 10_000)).toBe(true)
  expect(progress.tcpMovedInSilence).toBe(true)
  progress.rtmp(3_000_000, 15_100)
  expect(progress.isStalled(0, 15_101, 10_000)).toBe(false)
})

test('the rest of a window that is never acknowledged is no silence, nor is silence where it is not trusted', () => {
  const quiet = habitual()
  quiet.sent(900_000)
  const mistrusted = habitual(false)
  mistrusted.sent(9_000_000)
  for (const progress of [quiet, mistrusted]) {
    for (let now = 6_000; now <= 60_000; now += 1_000) {
      progress.tcp(progress.sentBytes, 0, now)
      expect(progress.isStalled(0, now, 10_000)).toBe(false)
    }
  }
})
