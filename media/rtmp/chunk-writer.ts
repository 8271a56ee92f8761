/**
 * Chunk stream ids of outgoing messages. Each kind of message has its own chunk stream, so a header can be a delta to the
 * previous message of that kind. nginx-rtmp uses the same ids; RTMP 1.0, section 5.4, requires 2.
 */
export const CHUNK_STREAM = { control: 2, command: 3, data: 5, audio: 6, video: 7 } as const

/** RTMP message types (RTMP 1.0, sections 5.4 and 7.1). */
export const MESSAGE_TYPE = {
  setChunkSize: 1,
  acknowledgement: 3,
  userControl: 4,
  windowAcknowledgementSize: 5,
  setPeerBandwidth: 6,
  audio: 8,
  video: 9,
  data: 18,
  command: 20,
} as const

/**
 * Chunk size of outgoing connections. OBS uses 4096 too, so every platform sees it daily. A larger size would save one
 * byte in 4,096.
 */
export const OUTGOING_CHUNK_SIZE = 4096

export interface OutgoingMessage {
  readonly type: number
  readonly chunkStreamId: number
  readonly payload: Buffer
}

/** The fields of a type 0 header, which starts a chunk stream. `timestamp` is in milliseconds and wraps at 2^32. */
export interface AbsoluteHeader {
  readonly timestamp: number
  readonly streamId: number
}

const EXTENDED = 0xff_ffff
const ABSOLUTE_HEADER_BYTES = 12
const DELTA_HEADER_BYTES = 8

/** Encoded size of a message with a type 0 header. */
export function absoluteSize(payloadBytes: number, timestamp: number, chunkSize: number): number {
  return wireSize(ABSOLUTE_HEADER_BYTES, payloadBytes, toUint32(timestamp) >= EXTENDED, chunkSize)
}

/** Encoded size of a message with a type 1 header. */
export function deltaSize(payloadBytes: number, delta: number, chunkSize: number): number {
  return wireSize(DELTA_HEADER_BYTES, payloadBytes, delta >= EXTENDED, chunkSize)
}

/** Encodes a message with a type 0 header (RTMP 1.0, section 5.3.1.2.1). */
export function encodeAbsolute(message: OutgoingMessage, header: AbsoluteHeader, chunkSize: number): Buffer {
  const timestamp = toUint32(header.timestamp)
  const target = Buffer.allocUnsafe(absoluteSize(message.payload.length, timestamp, chunkSize))
  target[0] = message.chunkStreamId
  target.writeUIntBE(Math.min(timestamp, EXTENDED), 1, 3)
  target.writeUIntBE(message.payload.length, 4, 3)
  target[7] = message.type
  target.writeUInt32LE(header.streamId, 8)
  writeBody(target, ABSOLUTE_HEADER_BYTES, message, timestamp, chunkSize)
  return target
}

/**
 * Encodes a message with a type 1 header into `target` at `offset`. The timestamp is a delta to the previous message on
 * the chunk stream, and the message stream id is inherited (section 5.3.1.2.2). The bytes contain nothing specific to a
 * connection, so all connections that have sent the previous message can share them.
 *
 * @returns the offset after the last byte written.
 */
export function encodeDeltaInto(
  target: Buffer,
  offset: number,
  message: OutgoingMessage,
  delta: number,
  chunkSize: number,
): number {
  target[offset] = (1 << 6) | message.chunkStreamId
  target.writeUIntBE(Math.min(delta, EXTENDED), offset + 1, 3)
  target.writeUIntBE(message.payload.length, offset + 4, 3)
  target[offset + 7] = message.type
  return writeBody(target, offset + DELTA_HEADER_BYTES, message, delta, chunkSize)
}

/** Encodes a message with a type 1 header into a new buffer. */
export function encodeDelta(message: OutgoingMessage, delta: number, chunkSize: number): Buffer {
  const target = Buffer.allocUnsafe(deltaSize(message.payload.length, delta, chunkSize))
  encodeDeltaInto(target, 0, message, delta, chunkSize)
  return target
}

function wireSize(headerBytes: number, payloadBytes: number, extended: boolean, chunkSize: number): number {
  const chunks = Math.max(1, Math.ceil(payloadBytes / chunkSize))
  return headerBytes + payloadBytes + (chunks - 1) + (extended ? chunks * 4 : 0)
}

/** Writes the extended timestamp, if any, then the payload in chunks. Type 3 headers repeat the extended timestamp. */
function writeBody(target: Buffer, start: number, message: OutgoingMessage, time: number, chunkSize: number): number {
  const { payload } = message
  let offset = time >= EXTENDED ? target.writeUInt32BE(time, start) : start
  let taken = Math.min(payload.length, chunkSize)
  offset += payload.copy(target, offset, 0, taken)
  while (taken < payload.length) {
    target[offset++] = (3 << 6) | message.chunkStreamId
    if (time >= EXTENDED) offset = target.writeUInt32BE(time, offset)
    const end = Math.min(payload.length, taken + chunkSize)
    offset += payload.copy(target, offset, taken, end)
    taken = end
  }
  return offset
}

function toUint32(milliseconds: number): number {
  return milliseconds % 0x1_0000_0000
}
