/** Writes a live Matroska stream (RFC 9559) with one track and one cluster per frame, without an index. */

/** The codec of the track. */
export type CodedTrack =
  /** 48 kHz, stereo. */
  | { readonly codec: 'opus' }
  | { readonly codec: 'vp8' }
  /** With its AVCDecoderConfigurationRecord. */
  | { readonly codec: 'h264'; readonly record: Buffer }

const EBML = 0x1a45_dfa3
const SEGMENT = 0x1853_8067
const INFO = 0x1549_a966
const TRACKS = 0x1654_ae6b
const TRACK_ENTRY = 0xae
const CLUSTER = 0x1f43_b675
const SIMPLE_BLOCK = 0xa3
const KEYFRAME = 0x80
const TRACK = 1
const VIDEO = 1
const AUDIO = 2
/** A video track must declare a size. Decoders replace it by the real size with the first frame. */
const NOMINAL_WIDTH = 1_280
const NOMINAL_HEIGHT = 720

/** The EBML header and the start of the segment, before the first frame. */
export function matroskaHeader(track: CodedTrack): Buffer {
  return Buffer.concat([
    element(EBML, [
      unsigned(0x4286, 1),
      unsigned(0x42f7, 1),
      unsigned(0x42f2, 4),
      unsigned(0x42f3, 8),
      text(0x4282, 'matroska'),
      unsigned(0x4287, 4),
      unsigned(0x4285, 2),
    ]),
    id(SEGMENT),
    // Unknown size: the stream is live.
    Buffer.from('01ffffffffffffff', 'hex'),
    element(INFO, [unsigned(0x2a_d7b1, 1_000_000), text(0x4d80, 'crier'), text(0x5741, 'crier')]),
    element(TRACKS, [track.codec === 'opus' ? audioEntry() : videoEntry(track)]),
  ])
}

/** One frame. @param timestamp milliseconds, not negative */
export function matroskaFrame(timestamp: number, isKeyframe: boolean, data: Buffer): Buffer {
  const time = unsigned(0xe7, timestamp)
  const block = Buffer.of(0x80 | TRACK, 0, 0, isKeyframe ? KEYFRAME : 0)
  const blockSize = size(block.length + data.length)
  const body = time.length + 1 + blockSize.length + block.length + data.length
  return Buffer.concat([id(CLUSTER), size(body), time, Buffer.of(SIMPLE_BLOCK), blockSize, block, data])
}

function videoEntry(video: Exclude<CodedTrack, { codec: 'opus' }>): Buffer {
  return element(TRACK_ENTRY, [
    ...trackFields(VIDEO),
    ...(video.codec === 'vp8'
      ? [text(0x86, 'V_VP8')]
      : [text(0x86, 'V_MPEG4/ISO/AVC'), element(0x63a2, [video.record])]),
    element(0xe0, [unsigned(0xb0, NOMINAL_WIDTH), unsigned(0xba, NOMINAL_HEIGHT)]),
  ])
}

function audioEntry(): Buffer {
  // Identification header (RFC 7845, section 5.1): version 1, two channels, no pre-skip, 48 kHz, no gain.
  const head = Buffer.concat([Buffer.from('OpusHead'), Buffer.from('0102000080bb0000000000', 'hex')])
  const rate = Buffer.alloc(4)
  rate.writeFloatBE(48_000)
  return element(TRACK_ENTRY, [
    ...trackFields(AUDIO),
    text(0x86, 'A_OPUS'),
    element(0x63a2, [head]),
    unsigned(0x56bb, 80_000_000),
    element(0xe1, [element(0xb5, [rate]), unsigned(0x9f, 2)]),
  ])
}

/** TrackNumber, TrackUID, TrackType, FlagLacing. */
function trackFields(type: number): Buffer[] {
  return [unsigned(0xd7, TRACK), unsigned(0x73c5, TRACK), unsigned(0x83, type), unsigned(0x9c, 0)]
}

function element(name: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([id(name), size(body.length), body])
}

function unsigned(name: number, value: number): Buffer {
  let length = 1
  while (length < 6 && value >= 2 ** (8 * length)) length += 1
  const bytes = Buffer.alloc(length)
  bytes.writeUIntBE(value, 0, length)
  return element(name, [bytes])
}

function text(name: number, value: string): Buffer {
  return element(name, [Buffer.from(value)])
}

function id(value: number): Buffer {
  const length = value > 0xff_ffff ? 4 : value > 0xffff ? 3 : value > 0xff ? 2 : 1
  const bytes = Buffer.alloc(length)
  bytes.writeUIntBE(value, 0, length)
  return bytes
}

/** Always uses four bytes, which is valid for any smaller size. */
function size(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(0x1000_0000 + value)
  return bytes
}
