import { expect, test } from 'vitest'
import { DeliveryProgress } from './delivery-progress.ts'

test('RTMP acknowledgements count across the 32-bit wrap', () => {
  const progress = new DeliveryProgress(0)
  progress.beginMedia(0)
  progress.noteSent(0xffff_ff00)
  progress.noteAcknowledgement(0xffff_0000, 1)
  expect(progress.acknowledgedBytes).toBe(0xffff_0000)
  progress.noteSent(0x20_0000)
  progress.noteAcknowledgement(0x0010_0000, 2)
  expect(progress.acknowledgedBytes).toBe(0x1_0010_0000)
})

test('a server that restarts its count, as nginx-rtmp does at 0xf0000000, still makes progress', () => {
  const progress = new DeliveryProgress(0)
  progress.beginMedia(0)
  progress.noteSent(0xf000_0000)
  progress.noteAcknowledgement(0xefe0_0000, 1)
  progress.noteAcknowledgement(0xeff0_0000, 2)
  progress.noteSent(0x10_0000)
  progress.noteAcknowledgement(0x0008_0000, 9_000)
  expect(progress.acknowledgedBytes).toBeLessThanOrEqual(progress.sentBytes)
  expect(progress.timeWithoutProgress(1_000, 9_500)).toBe(500)
})

test('media has arrived when bytes sent after Publish.Start were acknowledged', () => {
  const progress = new DeliveryProgress(0)
  progress.noteSent(3_500)
  progress.noteTcpSample(3_500, 0, 1)
  expect(progress.hasMediaArrived).toBe(false)
  progress.beginMedia(2)
  expect(progress.needsTcpSample(2)).toBe(false)
  progress.noteSent(100)
  expect(progress.needsTcpSample(3)).toBe(true)
  progress.noteTcpSample(3_600, 100, 4)
  expect(progress.hasMediaArrived).toBe(false)
  progress.noteTcpSample(3_600, 50, 5)
  expect(progress.hasMediaArrived).toBe(true)
})

test('a connection is stalled when TCP samples show that data in flight does not arrive', () => {
  const progress = new DeliveryProgress(0)
  progress.beginMedia(0)
  progress.noteSent(1_000)
  progress.noteTcpSample(1_000, 400, 100)
  expect(progress.isStalled(0, 20_000, 10_000)).toBe(false)
  progress.noteTcpSample(1_000, 400, 20_000)
  expect(progress.isStalled(0, 20_000, 10_000)).toBe(true)
  progress.noteTcpSample(1_000, 300, 20_001)
  expect(progress.isStalled(0, 20_002, 10_000)).toBe(false)
})

test('a connection with nothing to send is never stalled', () => {
  const progress = new DeliveryProgress(0)
  progress.beginMedia(0)
  progress.noteSent(1_000)
  progress.noteTcpSample(1_000, 400, 100)
  progress.noteTcpSample(1_000, 0, 200)
  for (let now = 1_000; now < 60_000; now += 1_000) expect(progress.isStalled(0, now, 10_000)).toBe(false)
})

test('TCP is not sampled while the server sends RTMP acknowledgements', () => {
  const progress = new DeliveryProgress(0)
  progress.beginMedia(0)
  progress.noteSent(2_000_000)
  progress.noteAcknowledgement(1_000_000, 1_000)
  expect(progress.needsTcpSample(5_999)).toBe(false)
  expect(progress.needsTcpSample(6_000)).toBe(true)
})

/** A server that has acknowledged each of five windows of 500,000 bytes. */
function regular(expectsAcknowledgements = true): DeliveryProgress {
  const progress = new DeliveryProgress(0, expectsAcknowledgements)
  progress.beginMedia(0)
  for (let window = 1; window <= 5; window++) {
    progress.noteSent(500_000)
    progress.noteAcknowledgement(window * 500_000, window * 1_000)
  }
  return progress
}

test('when regular acknowledgements are missing, TCP acknowledgements are not progress', () => {
  const progress = regular()
  progress.noteSent(2_000_000)
  for (let now = 6_000; now <= 15_000; now += 1_000) progress.noteTcpSample(progress.sentBytes, 0, now)
  expect(progress.isStalled(0, 15_001, 10_000)).toBe(true)
  expect(progress.onlyTcpProgressed).toBe(true)
  progress.noteAcknowledgement(3_000_000, 15_100)
  expect(progress.isStalled(0, 15_101, 10_000)).toBe(false)
})

test('an unfinished window, or acknowledgements that are not expected, cause no stall', () => {
  const withinWindow = regular()
  withinWindow.noteSent(900_000)
  const notExpected = regular(false)
  notExpected.noteSent(9_000_000)
  for (const progress of [withinWindow, notExpected]) {
    for (let now = 6_000; now <= 60_000; now += 1_000) {
      progress.noteTcpSample(progress.sentBytes, 0, now)
      expect(progress.isStalled(0, now, 10_000)).toBe(false)
    }
  }
})
