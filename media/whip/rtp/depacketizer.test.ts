import { describe, expect, test } from 'vitest'
import { h264Payloads } from '../../testing/rtp-writer.ts'
import { AvcTrack, type AvcConfig, type AvcPicture } from './avc-track.ts'
import { H264Depacketizer, type AccessUnit } from './h264-depacketizer.ts'
import { Vp8Depacketizer, type Vp8Frame } from './vp8-depacketizer.ts'

const SPS = Buffer.from('6742c01eda0280bfe5c044000003000400000300f03c58ba80', 'hex')
const PPS = Buffer.from('68ce0fc8', 'hex')
const DELIMITER = Buffer.of(0x09, 0xf0)

/** A slice that begins its picture, of so many bytes. */
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
  let damages = 0
  const depacketizer = new H264Depacketizer(
    (unit) => units.push(unit),
    () => {
      damages += 1
    },
  )
  return {
    units,
    damages: () => damages,
    push: ({ marker, payload, timestamp }: Packet, afterLoss = false) =>
      depacketizer.push(timestamp, marker, payload, afterLoss),
  }
}

describe('H.264', () => {
  test('single units, aggregates and fragments make one picture', () => {
    const reader = h264()
    const nals = [SPS, PPS, slice(true, 95), slice(true, 6)]
    for (const packet of packetsOf(900, nals)) reader.push(packet)
    expect(reader.units).toEqual([{ timestamp: 900, nals }])
    expect(reader.damages()).toBe(0)
  })

  test('a picture without a marker ends where the next begins', () => {
    const reader = h264()
    for (const packet of packetsOf(1, [slice(true)])) reader.push({ ...packet, marker: false })
    expect(reader.units).toEqual([])
    for (const packet of packetsOf(2, [slice(false)])) reader.push(packet)
    expect(reader.units.map(({ timestamp }) => timestamp)).toEqual([1, 2])
  })

  test('packets without payload are nothing', () => {
    const reader = h264()
    reader.push({ timestamp: 1, marker: true, payload: Buffer.alloc(0) })
    reader.push({ timestamp: 2, marker: true, payload: slice(true) })
    expect(reader.units).toEqual([{ timestamp: 2, nals: [slice(true)] }])
    expect(reader.damages()).toBe(0)
  })

  test.each([
    ['the first fragment', 0],
    ['one in the middle', 3],
    ['the last one', 9],
  ])('a picture that lacks %s is not delivered, the next is', (_what, missing) => {
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
    expect(reader.damages()).toBe(1)
  })

  test('behind a loss a picture counts only with its first slice', () => {
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
    ['an aggregate whose unit is longer than it', '78 00ff 65'],
    ['an aggregate with an empty unit', '78 0000'],
    ['an aggregate with a byte left over', '78 0002 6588 00'],
    ['an empty aggregate', '78 00'],
    ['a fragment without content', '7c85'],
    ['a fragment with no beginning', '7c05aa'],
    ['a fragment that never ends', '7c85aa'],
    ['a kind that mode 1 does not have', '79 0000 0001 65'],
    ['type 0', '60aa'],
  ])('%s is damage, and what comes after is not', (_what, text) => {
    const reader = h264()
    reader.push({ timestamp: 1, marker: true, payload: Buffer.from(text.replaceAll(' ', ''), 'hex') })
    expect(reader.units).toEqual([])
    expect(reader.damages()).toBe(1)
    reader.push({ timestamp: 2, marker: true, payload: slice(true) })
    expect(reader.units.length).toBe(1)
  })

  test('a fragment that another kind interrupts, or that begins twice, is damage', () => {
    for (const second of [slice(false), Buffer.from('7c85aa', 'hex')]) {
      const reader = h264()
      reader.push({ timestamp: 1, marker: false, payload: Buffer.from('7c85aa', 'hex') })
      reader.push({ timestamp: 1, marker: true, payload: second })
      expect(reader.units).toEqual([])
      expect(reader.damages()).toBe(1)
    }
  })

  test('a picture beyond every measure is dropped while it grows', () => {
    const reader = h264()
    const part = Buffer.alloc(1_000_000, 1)
    part.set([0x7c, 0x05])
    reader.push({ timestamp: 1, marker: false, payload: Buffer.from('7c85aa', 'hex') })
    for (let index = 0; index < 9; index += 1) reader.push({ timestamp: 1, marker: false, payload: part })
    reader.push({ timestamp: 1, marker: true, payload: Buffer.from('7c45aa', 'hex') })
    expect(reader.units).toEqual([])
    expect(reader.damages()).toBe(1)
  })

  test('any cut of any packet is damage at worst', () => {
    const reader = h264()
    const packets = [...packetsOf(1, [SPS, PPS, slice(true, 60)]), ...packetsOf(2, [slice(false, 8)])]
    let timestamp = 10
    for (const { payload } of packets) {
      for (let bytes = 0; bytes < payload.length; bytes += 1) {
        reader.push({ timestamp: (timestamp += 1), marker: true, payload: payload.subarray(0, bytes) })
      }
    }
    expect(reader.damages()).toBeGreaterThan(0)
  })
})

function track(parameterSets: readonly Buffer[] = []) {
  const told: (AvcConfig | AvcPicture)[] = []
  const avc = new AvcTrack(
    parameterSets,
    (config) => told.push(config),
    (picture) => told.push(picture),
  )
  return { avc, told }
}

describe('a decodable stream', () => {
  test('begins with a configuration and a keyframe, without parameter sets in it', () => {
    const { avc, told } = track()
    avc.add({ timestamp: 1, nals: [slice(false)] })
    avc.add({ timestamp: 2, nals: [DELIMITER, SPS, PPS, slice(true)] })
    avc.add({ timestamp: 3, nals: [DELIMITER, slice(false)] })
    avc.add({ timestamp: 4, nals: [SPS, PPS, slice(true)] })
    expect(told).toEqual([
      {
        record: Buffer.concat([Buffer.from('0142c01effe10019', 'hex'), SPS, Buffer.from('010004', 'hex'), PPS]),
      },
      { timestamp: 2, isKeyframe: true, nals: [slice(true)] },
      { timestamp: 3, isKeyframe: false, nals: [slice(false)] },
      { timestamp: 4, isKeyframe: true, nals: [slice(true)] },
    ])
  })

  test('waits for parameter sets, which may come on their own or in the description', () => {
    const { avc, told } = track()
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.add({ timestamp: 2, nals: [SPS, PPS] })
    expect(told).toEqual([])
    avc.add({ timestamp: 3, nals: [slice(true)] })
    expect(told.length).toBe(2)
    const described = track([SPS, PPS])
    described.avc.add({ timestamp: 1, nals: [slice(true)] })
    expect(described.told.length).toBe(2)
  })

  test('tells a new configuration when the parameter sets change', () => {
    const { avc, told } = track([SPS, PPS])
    const other = Buffer.concat([SPS, Buffer.of(0)])
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.add({ timestamp: 2, nals: [other, slice(true)] })
    // The new one has no picture parameters yet.
    expect(told.length).toBe(2)
    avc.add({ timestamp: 3, nals: [other, PPS, slice(true)] })
    expect(told.slice(2).map((one) => ('record' in one ? 'config' : one.timestamp))).toEqual(['config', 3])
    const second = Buffer.of(0x68, 0x5e, 1)
    avc.add({ timestamp: 4, nals: [second, slice(true)] })
    expect((told.at(-2) as AvcConfig).record.includes(Buffer.concat([Buffer.from('020004', 'hex'), PPS]))).toBe(true)
  })

  test('after a loss passes nothing on before the next keyframe', () => {
    const { avc, told } = track([SPS, PPS])
    avc.add({ timestamp: 1, nals: [slice(true)] })
    avc.lose()
    expect(avc.awaitsKeyframe).toBe(true)
    avc.add({ timestamp: 2, nals: [slice(false)] })
    avc.add({ timestamp: 3, nals: [slice(true)] })
    avc.add({ timestamp: 4, nals: [slice(false)] })
    expect(told.slice(1).map((one) => ('record' in one ? 'config' : one.timestamp))).toEqual([1, 3, 4])
  })
})

describe('VP8', () => {
  function vp8() {
    const frames: Vp8Frame[] = []
    let damages = 0
    const reader = new Vp8Depacketizer(
      (frame) => frames.push(frame),
      () => {
        damages += 1
      },
    )
    return { frames, damages: () => damages, reader }
  }
  const KEY = Buffer.from('10aabb', 'hex')

  test.each([
    ['none', '10'],
    ['a picture id of 7 bits', '9080 11'],
    ['a picture id of 15 bits', '9080 8011'],
    ['everything', '90f0 8011 22 33'],
  ])('a frame with %s in front', (_what, descriptor) => {
    const { frames, reader } = vp8()
    reader.push(5, true, Buffer.concat([Buffer.from(descriptor.replaceAll(' ', ''), 'hex'), KEY]), false)
    expect(frames).toEqual([{ timestamp: 5, isKeyframe: true, data: KEY }])
  })

  test('a frame in several packets, and one that depends on it', () => {
    const { frames, reader } = vp8()
    reader.push(5, false, Buffer.from('10 10aa'.replace(' ', ''), 'hex'), false)
    reader.push(5, true, Buffer.from('00bb', 'hex'), false)
    reader.push(6, true, Buffer.from('10 11cc'.replace(' ', ''), 'hex'), false)
    expect(frames.map(({ data, isKeyframe }) => [data.toString('hex'), isKeyframe])).toEqual([
      ['10aabb', true],
      ['11cc', false],
    ])
  })

  test('a frame that lacks a part, or has nothing behind its descriptor, is damage', () => {
    const { damages, frames, reader } = vp8()
    reader.push(5, true, Buffer.from('00bb', 'hex'), true)
    reader.push(6, false, Buffer.from('1010aa', 'hex'), false)
    reader.push(6, true, Buffer.from('00bb', 'hex'), true)
    reader.push(7, true, Buffer.from('90ff', 'hex'), false)
    expect(frames).toEqual([])
    expect(damages()).toBe(3)
    reader.push(8, true, Buffer.from('1010aa', 'hex'), false)
    expect(frames.length).toBe(1)
  })
})
