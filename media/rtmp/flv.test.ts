import { describe, expect, test } from 'vitest'
import { aacFrame, aacHeader, avcFrame, avcHeader, enhancedVideo } from '../testing/media-payloads.ts'
import { splitAggregate } from './aggregate.ts'
import { encodeAmf0 } from './amf0.ts'
import { classify, headerVideoSize, readMetadata } from './flv.ts'
import { av1VideoSize } from './obu.ts'
import { avcVideoSize, hevcVideoSize } from './sps.ts'
import { vp9VideoSize } from './vp9.ts'

const hex = (digits: string): Buffer => Buffer.from(digits, 'hex')

type Expected = 'header' | 'keyframe' | 'frame' | 'other'

function classified(type: 8 | 9, payload: Buffer): [Expected, string | null] {
  const { isSequenceHeader, isKeyframe, isFrame, codec } = classify(type, payload)
  return [isSequenceHeader ? 'header' : isKeyframe ? 'keyframe' : isFrame ? 'frame' : 'other', codec]
}

describe('classify', () => {
  test.each<[string, Buffer, Expected, string | null]>([
    ['AVC sequence header', avcHeader(), 'header', 'h264'],
    ['AVC keyframe', avcFrame(true), 'keyframe', 'h264'],
    ['AVC inter frame', avcFrame(false), 'frame', 'h264'],
    ['AVC end of sequence', hex('1702000000'), 'other', 'h264'],
    ['AVC without a packet type', hex('17'), 'other', 'h264'],
    ['command frame', hex('5700'), 'other', 'h264'],
    [
      'AVC IDR picture flagged as inter frame, after an access unit delimiter',
      hex('27010000000000000209f0000000026588'),
      'keyframe',
      'h264',
    ],
    ['AVC inter frame with a NAL unit length past the end', hex('2701000000ffffffff65'), 'frame', 'h264'],
    [
      'hvc1 CRA picture flagged as inter frame',
      enhancedVideo('hvc1', 3, false, hex('000000032a0180')),
      'keyframe',
      'hevc',
    ],
    ['hvc1 trailing picture', enhancedVideo('hvc1', 3, false, hex('00000003020180')), 'frame', 'hevc'],
    ['av01 with a damaged OBU', enhancedVideo('av01', 1, false, hex('0aff')), 'frame', 'av1'],
    ['CodecID 12 (HEVC) sequence header', hex('1c00000000'), 'header', 'hevc'],
    ['CodecID 12 (HEVC) keyframe', hex('1c01000000'), 'keyframe', 'hevc'],
    ['H.263 keyframe', hex('1200'), 'keyframe', 'h263'],
    ['an empty payload', hex(''), 'other', null],
    ['hvc1 SequenceStart', enhancedVideo('hvc1', 0, true), 'header', 'hevc'],
    ['hvc1 CodedFrames, keyframe', enhancedVideo('hvc1', 1, true), 'keyframe', 'hevc'],
    ['hvc1 CodedFramesX, keyframe', enhancedVideo('hvc1', 3, true), 'keyframe', 'hevc'],
    ['hvc1 CodedFramesX, inter frame', enhancedVideo('hvc1', 3, false), 'frame', 'hevc'],
    ['hvc1 SequenceEnd', enhancedVideo('hvc1', 2, true), 'other', 'hevc'],
    ['hvc1 Metadata', enhancedVideo('hvc1', 4, true), 'other', 'hevc'],
    ['avc1 SequenceStart', enhancedVideo('avc1', 0, true), 'header', 'h264'],
    ['avc1 SequenceEnd', enhancedVideo('avc1', 2, true), 'other', 'h264'],
    ['av01 SequenceStart', enhancedVideo('av01', 0, true), 'header', 'av1'],
    ['av01 MPEG-2 TS SequenceStart', enhancedVideo('av01', 5, true), 'header', 'av1'],
    ['vp09 keyframe', enhancedVideo('vp09', 1, true), 'keyframe', 'vp9'],
    ['an unknown FourCC, keyframe', enhancedVideo('vvc1', 1, true), 'keyframe', 'vvc1'],
    ['a truncated FourCC', hex('906176'), 'other', null],
    ['ModEx before a keyframe', hex('97020000000161766331ff'), 'keyframe', 'h264'],
    ['a truncated ModEx', hex('97ff'), 'other', null],
    ['multitrack SequenceStart', Buffer.concat([hex('9600'), Buffer.from('avc1'), hex('00')]), 'other', null],
  ])('video: %s', (_name, payload, expected, codec) => {
    expect(classified(9, payload)).toEqual([expected, codec])
  })

  test.each<[string, Buffer, Expected, string | null]>([
    ['AAC sequence header', aacHeader(), 'header', 'aac'],
    ['AAC frame', aacFrame(), 'frame', 'aac'],
    ['MP3', hex('2f00'), 'frame', 'mp3'],
    ['AAC without a packet type', hex('af'), 'frame', 'aac'],
    ['an empty payload', hex(''), 'other', null],
    ['Opus SequenceStart', Buffer.concat([hex('90'), Buffer.from('OpusOpusHead')]), 'header', 'opus'],
    ['Opus CodedFrames', Buffer.concat([hex('91'), Buffer.from('Opus'), hex('00')]), 'frame', 'opus'],
    ['mp4a SequenceEnd', Buffer.concat([hex('92'), Buffer.from('mp4a')]), 'other', 'aac'],
    ['MultichannelConfig', Buffer.concat([hex('94'), Buffer.from('mp4a')]), 'other', 'aac'],
  ])('audio: %s', (_name, payload, expected, codec) => {
    expect(classified(8, payload)).toEqual([expected, codec])
  })
})

// Decoder configuration records written by x264 and x265: Baseline, interlaced High with cropping, three temporal
// layers, 4:4:4.
const BASELINE = '0142c01effe100196742c01eda0280bfe5c044000003000400000300f03c58ba8001000468ce0fc8'
const INTERLACED = '01640028ffe1001a67640028acd94078044fde0220000003002000000783e2c5b2c001000668fba3cb22c0fdf8f800'
const LAYERED =
  '0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f959809' +
  'a10001002c42010101600000030090000003000003003fa005120171c9265959a4932bc05a020000030002000003003c10a2000100' +
  '074401c172b46240'
const FULL_CHROMA =
  '0104080000009e08000000003ff000fcfff8f800000f03a00001001740010c01ffff0408000003009e0800000300003f959809a1' +
  '0001002d4201010408000003009e0800000300003f9000a2402e39e7cb2b349265780b7020200040000003004000000782a2000100' +
  '084401c172860c4624'
// Records written by SVT-AV1 (4:2:0) and libaom (4:4:4), and the first bytes of a libvpx keyframe.
const AV1 = '81000c000a0b000000043cfecc02f80040'
const AV1_444 = '812000000a0d200000043cfeccdaf92021a004'
const VP9_KEYFRAME = '824983420013f00b360638241c184a'

describe('size of the video', () => {
  test.each([
    [avcVideoSize, BASELINE, { width: 640, height: 360 }],
    [avcVideoSize, INTERLACED, { width: 1920, height: 1080 }],
    [hevcVideoSize, LAYERED, { width: 642, height: 362 }],
    [hevcVideoSize, FULL_CHROMA, { width: 642, height: 362 }],
    [av1VideoSize, AV1, { width: 320, height: 180 }],
    [av1VideoSize, AV1_444, { width: 320, height: 180 }],
    [vp9VideoSize, VP9_KEYFRAME, { width: 320, height: 180 }],
  ])('%o reads %s', (read, record, size) => {
    expect(read(hex(record))).toEqual(size)
    // A truncated record gives null or the right size, and throws nothing.
    for (let length = 0; length < record.length / 2; length++) {
      expect([null, size]).toContainEqual(read(hex(record).subarray(0, length)))
    }
  })

  test('is read from sequence headers of legacy and Enhanced RTMP', () => {
    expect(headerVideoSize(avcHeader(), 'h264')).toEqual({ width: 640, height: 360 })
    expect(headerVideoSize(enhancedVideo('hvc1', 0, true, hex(LAYERED)), 'hevc')).toEqual({ width: 642, height: 362 })
    expect(headerVideoSize(enhancedVideo('av01', 0, true, hex(AV1)), 'av1')).toEqual({ width: 320, height: 180 })
    expect(headerVideoSize(enhancedVideo('av01', 0, true), 'av1')).toBeNull()
    expect(vp9VideoSize(Buffer.of(0x86, 0x49))).toBeNull()
  })
})

describe('onMetaData', () => {
  test('is read with and without @setDataFrame', () => {
    const object = { width: 1280, height: 720, framerate: 29.97, encoder: 'x' }
    const figures = { width: 1280, height: 720, fps: 29.97 }
    expect(readMetadata(encodeAmf0('onMetaData', object))).toEqual(figures)
    expect(readMetadata(encodeAmf0('@setDataFrame', 'onMetaData', object))).toEqual(figures)
  })

  test('invalid values are read as null, and other data messages are not metadata', () => {
    const unknown = { width: null, height: null, fps: null }
    expect(readMetadata(encodeAmf0('onMetaData', { width: 'wide', height: -1, framerate: Infinity }))).toEqual(unknown)
    expect(readMetadata(encodeAmf0('onMetaData'))).toEqual(unknown)
    expect(readMetadata(encodeAmf0('onMetaData', [1]))).toEqual(unknown)
    expect(readMetadata(encodeAmf0('onTextData', { text: 'hi' }))).toBeNull()
    expect(readMetadata(encodeAmf0('@setDataFrame', 'onOther', {}))).toBeNull()
  })
})

describe('aggregate messages', () => {
  const part = (type: number, timestamp: number, body: Buffer): Buffer => {
    const head = Buffer.alloc(11)
    head[0] = type
    head.writeUIntBE(body.length, 1, 3)
    head.writeUIntBE(timestamp & 0xff_ffff, 4, 3)
    head[7] = timestamp >>> 24
    return Buffer.concat([head, body, Buffer.alloc(4)])
  }
  const aggregate = { type: 22, streamId: 1, chunkStreamId: 4, timestamp: 5_000 }

  test('are split, with timestamps relative to the aggregate', () => {
    const payload = Buffer.concat([part(9, 0x0100_0000, Buffer.of(1)), part(8, 0x0100_0014, Buffer.of(2, 3))])
    expect(splitAggregate({ ...aggregate, payload })).toEqual([
      { type: 9, streamId: 1, chunkStreamId: 4, timestamp: 5_000, payload: Buffer.of(1) },
      { type: 8, streamId: 1, chunkStreamId: 4, timestamp: 5_020, payload: Buffer.of(2, 3) },
    ])
  })

  test('with a length past the end are rejected', () => {
    const payload = part(9, 0, Buffer.alloc(10)).subarray(0, 15)
    expect(() => splitAggregate({ ...aggregate, payload })).toThrow('truncated')
    expect(() => splitAggregate({ ...aggregate, payload: Buffer.alloc(5) })).toThrow('truncated')
  })
})
