// Small bodies of audio and video messages: valid headers with arbitrary content.

/** AVCDecoderConfigurationRecord of a 640×360 Constrained Baseline stream, written by x264. */
const AVC_RECORD = Buffer.from(
  '0142c01effe100196742c01eda0280bfe5c044000003000400000300f03c58ba8001000468ce0fc8',
  'hex',
)

export function avcHeader(): Buffer {
  return Buffer.concat([Buffer.from('1700000000', 'hex'), AVC_RECORD])
}

/** A keyframe or inter frame of `bytes` bytes, filled with `mark`. */
export function avcFrame(isKeyframe: boolean, bytes = 200, mark = 0): Buffer {
  const frame = Buffer.alloc(Math.max(bytes, 5), mark)
  frame.set([isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0])
  return frame
}

/** AAC sequence header: AAC-LC, 48 kHz, stereo. */
export function aacHeader(): Buffer {
  return Buffer.from('af001190', 'hex')
}

export function aacFrame(bytes = 50, mark = 0): Buffer {
  const frame = Buffer.alloc(Math.max(bytes, 2), mark)
  frame.set([0xaf, 1])
  return frame
}

/** An Enhanced RTMP video body: frame type, packet type, FourCC, content. */
export function enhancedVideo(
  fourCc: string,
  packetType: number,
  isKeyframe: boolean,
  content: Buffer = Buffer.alloc(8),
): Buffer {
  return Buffer.concat([Buffer.of(0x80 | ((isKeyframe ? 1 : 2) << 4) | packetType), Buffer.from(fourCc), content])
}
