import { describe, expect, test } from 'vitest'
import { h264Payloads } from '../../testing/rtp-writer.ts'
import { AvcTrack, type AvcConfig, type AvcFrame } from './avc-track.ts'
import { H264Depacketizer, type AccessUnit } from './h264-depacketizer.ts'
import { Vp8Depacketizer, type Vp8Frame } from './vp8-depacketizer.ts'

const SPS = Buffer.from('6742c01eda0280bfe5c044000003000400000300f03c58ba80', 'hex')
const PPS = Buffer.from('68ce0fc8', 'hex')
const DELIMITER = Buffer.of(0x09, 0xf0)

/** The first slice of a frame. */
function slice(isKeyframe: boolean, bytes = 20, mark = 7): Buffer {
  const nal = Buffer.alloc(bytes, mark)
  nal.set([isKeyframe ? 0x65 : 0x41, 0x88])
  return nal
}

interface Packet {
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
}

function packetsOf(timestamp: number, nals: readonly Buffer[], mostBytes = 10): Packet[] {
  const payloads = h264Payloads(nals, mostBytes)
  return payloads.map((payload, index) => ({ timestamp, payload, marker: index === payloads.length - 1 }))
}

function h264() {
  const units: AccessUnit[] = []
  let damagedFrames = 0
  const depacketizer = new H264Depacketizer(
    (unit) => units.push(unit),
    () => {
      damagedFrames += 1
    },
  )
  return {
    units,
    damagedFrames: () => damagedFrames,
    push: ({ marker, payload, timestamp }: Packet, afterLoss = false) =>
      depacketizer.push(timestamp, marker, payload, afterLoss),
  }
}

describe('H264Depacketizer', () => {
  test('assembles a frame from single NAL units, STAP-A and FU-A', () => {
    const reader = h264()
    const nals = [SPS, PPS, slice(true, 95), slice(true, 6)]
    for (const packet of packetsOf(900, nals)) reader.push(packet)
    expect(reader.units).toEqual([{ timestamp: 900, nals }])
    expect(reader.damagedFrames()).toBe(0)
  })

  test('ends a frame without marker at the next timestamp', () => {
    const reader = h264()
    for (const packet of packetsOf(1, [slice(true)])) reader.push({ ...packet, marker: false })
    expect(reader.units).toEqual([])
    for (const packet of packetsOf(2, [slice(false)])) reader.push(packet)
    expect(reader.units.map(({ timestamp }) => timestamp)).toEqual([1, 2])
  })

  test('ignores packets without payload', () => {
    const reader = h264()
    reader.push({ timestamp: 1, marker: true, payload: Buffer.alloc(0) })
    reader.push({ timestamp: 2, marker: true, payload: slice(true) })
    expect(reader.units).toEqual([{ timestamp: 2, nals: [slice(true)] }])
    expect(reader.damagedFrames()).toBe(0)
  })

  test.each([
    ['the first fragment', 0],
    ['a fragment in the middle', 3],
    ['the last fragment', 9],
  ])('drops a frame without %s, and delivers the next frame', (_what, missing) => {
    const reader = h264()
    const packets = packetsOf(1, [slice(false, 100)])
    expect(packets.length).toBe(10)
    packets.forEach((packet, index) => {
      if (index !== missing) reader.push(packet, index === missing + 1)
    })
    const [next, ...rest] = packetsOf(2, [slice(false, 30)])
    reader.push(next!, missing === 9)
    for (const packet of rest) reader.push(packet)
    expect(reader.units.map(({ timestamp }) => timestamp)).toEqual([2])
    expect(reader.damagedFrames()).toBe(1)
  })

  test('delivers a frame after a loss only if it has its first slice', () => {
    const reader = h264()
    const middle = Buffer.from(slice(false))
    // first_mb_in_slice is 1.
    middle[1] = 0x40
    reader.push({ timestamp: 5, marker: true, payload: middle }, true)
    reader.push({ timestamp: 6, marker: true, payload: middle })
    expect(reader.units.map(({ timestamp }) => timestamp)).toEqual([6])
    reader.push({ timestamp: 7, marker: true, payload: slice(false) }, true)
    expect(reader.units.map(({ timestamp }) => timestamp)).toEqual([6, 7])
  })

  test.each([
    ['a STAP-A unit that is longer than the packet', '78 00ff 65'],
    ['a STAP-A with an empty unit', '78 0000'],
    ['a STAP-A with a trailing byte', '78 0002 6588 00'],
    ['an empty STAP-A', '78 00'],
    ['an FU-A without content', '7c85'],
    ['an FU-A without a start', '7c05aa'],
    ['an FU-A without an end', '7c85aa'],
    ['a packet type that mode 1 does not allow', '79 0000 0001 65'],
    ['type 0', '60aa'],
  ])('%s damagedFrames its frame, but not the next frame', (_what, text) => {
    const reader = h264()
    reader.push({ timestamp: 1, marker: true, payload: Buffer.from(text.replaceAll(' ', ''), 'hex') })
    expect(reader.units).toEqual([])
    expect(reader.damagedFrames()).toBe(1)
    reader.push({ timestamp: 2, marker: true, payload: slice(true) })
    expect(reader.units.length).toBe(1)
  })

  test('drops a frame if an FU-A is interrupted or starts twice', () => {
    for (const second of [slice(false), Buffer.from('7c85aa', 'hex')]) {
      const reader = h264()
      reader.push({ timestamp: 1, marker: false, payload: Buffer.from('7c85aa', 'hex') })
      reader.push({ timestamp: 1, marker: true, payload: second })
      expect(reader.units).toEqual([])
      expect(reader.damagedFrames()).toBe(1)
    }
  })

  test('drops a frame that exceeds the size limit', () => {
    const reader = h264()
    const part = Buffer.alloc(1_000_000, 1)
    part.set([0x7c, 0x05])
    reader.push({ timestamp: 1, marker: false, payload: Buffer.from('7c85aa', 'hex') })
    for (let index = 0; index < 9; index += 1) reader.push({ timestamp: 1, marker: false, payload: part })
    reader.push({ timestamp: 1, marker: true, payload: Buffer.from('7c45aa', 'hex') })
    expect(reader.units).toEqual([])
    expect(reader.damagedFrames()).toBe(1)
  })

  test('never throws on truncated packets', () => {
    const reader = h264()
    const packets = [...packetsOf(1, [SPS, PPS, slice(true, 60)]), ...packetsOf(2, [slice(false, 8)])]
    let timestamp = 10
    for (const { payload } of packets) {
      for (let bytes = 0; bytes < payload.length; bytes += 1) {
        reader.push({ timestamp: (timestamp += 1), marker: true, payload: payload.subarray(0, bytes) })
      }
    }
    expect(reader.damagedFrames()).toBeGreaterThan(0)
  })
})

function track(parameterSets: readonly Buffer[] = []) {
  const output: (AvcConfig | AvcFrame)[] = []
  const avc = new AvcTrack(
    parameterSets,
    (config) => output.push(config),
    (frame) => output.push(frame),
  )
  return { avc, output }
}

describe('AvcTrack', () => {
  test('starts with the configuration and a keyframe without parameter sets', () => {
    const { avc, output } = track()
    avc.add({ timestamp: 1, nals: [slice(false)] })
    avc.add({ timestamp: 2, nals: [DELIMITER, SPS, PPS, slice(true)] })
    avc.add({ timestamp: 3, nals: [DELIMITER, slice(false)] })
    avc.add({ timestamp: 4, nals: [SPS, PPS, slice(true)] })
    expect(output).toEqual([
      {
        record: Buffer.concat([Buffer.from('0142c01effe10019', 'hex'), SPS, Buffer.from('010004', 'hex'), PPS]),
      },
      { timestamp: 2, isKeyframe: true, nals: [slice(true)] },
      { timestamp: 3, isKeyframe: false, nals: [slice(false)] },
      { timestamp: 4, isKeyframe: true, nals: [slice(true)] },
    ])
  })

  test('waits for parameter sets, which can come in their own access unit or in the SDP', () => {
    const { avc, output } = track()
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.add({ timestamp: 2, nals: [SPS, PPS] })
    expect(output).toEqual([])
    avc.add({ timestamp: 3, nals: [slice(true)] })
    expect(output.length).toBe(2)
    const fromSdp = track([SPS, PPS])
    fromSdp.avc.add({ timestamp: 1, nals: [slice(true)] })
    expect(fromSdp.output.length).toBe(2)
  })

  test('sends a new configuration when the parameter sets change', () => {
    const { avc, output } = track([SPS, PPS])
    const other = Buffer.concat([SPS, Buffer.of(0)])
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.add({ timestamp: 2, nals: [other, slice(true)] })
    // The new SPS has no PPS yet.
    expect(output.length).toBe(2)
    avc.add({ timestamp: 3, nals: [other, PPS, slice(true)] })
    expect(output.slice(2).map((item) => ('record' in item ? 'config' : item.timestamp))).toEqual(['config', 3])
    const second = Buffer.of(0x68, 0x5e, 1)
    avc.add({ timestamp: 4, nals: [second, slice(true)] })
    expect((output.at(-2) as AvcConfig).record.includes(Buffer.concat([Buffer.from('020004', 'hex'), PPS]))).toBe(true)
  })

  test('drops frames until the next keyframe after a loss', () => {
    const { avc, output } = track([SPS, PPS])
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.dropUntilKeyframe()
    expect(avc.awaitsKeyframe).toBe(true)
    avc.add({ timestamp: 2, nals: [slice(false)] })
    avc.add({ timestamp: 3, nals: [slice(true)] })
    avc.add({ timestamp: 4, nals: [slice(false)] })
    expect(output.slice(1).map((item) => ('record' in item ? 'config' : item.timestamp))).toEqual([1, 3, 4])
  })
})

describe('Vp8Depacketizer', () => {
  function vp8() {
    const frames: Vp8Frame[] = []
    let damagedFrames = 0
    const reader = new Vp8Depacketizer(
      (frame) => frames.push(frame),
      () => {
        damagedFrames += 1
      },
    )
    return { frames, damagedFrames: () => damagedFrames, reader }
  }
  const KEY = Buffer.from('10aabb', 'hex')

  test.each([
    ['the minimal descriptor', '10'],
    ['a picture id of 7 bits', '9080 11'],
    ['a picture id of 15 bits', '9080 8011'],
    ['all extensions', '90f0 8011 22 33'],
  ])('reads a frame with %s', (_what, descriptor) => {
    const { frames, reader } = vp8()
    reader.push(5, true, Buffer.concat([Buffer.from(descriptor.replaceAll(' ', ''), 'hex'), KEY]), false)
    expect(frames).toEqual([{ timestamp: 5, isKeyframe: true, data: KEY }])
  })

  test('assembles a keyframe of several packets and an inter frame', () => {
    const { frames, reader } = vp8()
    reader.push(5, false, Buffer.from('10 10aa'.replace(' ', ''), 'hex'), false)
    reader.push(5, true, Buffer.from('00bb', 'hex'), false)
    reader.push(6, true, Buffer.from('10 11cc'.replace(' ', ''), 'hex'), false)
    expect(frames.map(({ data, isKeyframe }) => [data.toString('hex'), isKeyframe])).toEqual([
      ['10aabb', true],
      ['11cc', false],
    ])
  })

  test('drops a frame with a missing part or without payload after the descriptor', () => {
    const { damagedFrames, frames, reader } = vp8()
    reader.push(5, true, Buffer.from('00bb', 'hex'), true)
    reader.push(6, false, Buffer.from('1010aa', 'hex'), false)
    reader.push(6, true, Buffer.from('00bb', 'hex'), true)
    reader.push(7, true, Buffer.from('90ff', 'hex'), false)
    expect(frames).toEqual([])
    expect(damagedFrames()).toBe(3)
    reader.push(8, true, Buffer.from('1010aa', 'hex'), false)
    expect(frames.length).toBe(1)
  })
})
