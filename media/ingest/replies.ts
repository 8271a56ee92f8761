import { encodeAmf0 } from '../rtmp/amf0.ts'
import { FORWARDED_CODECS } from '../rtmp/enhanced.ts'
import type { AmfValue } from '../rtmp/amf0.ts'

/** Chunk size of replies, announced with the first one. */
const CHUNK_SIZE = 4_096
const WINDOW_BYTES = 5_000_000

const CONTROL_STREAM = 2
const COMMAND_STREAM = 3

/** Encodes a message as a single chunk. All replies are small enough. */
function encode(chunkStreamId: number, type: number, streamId: number, payload: Buffer): Buffer {
  if (payload.length > CHUNK_SIZE) throw new RangeError('a reply must fit in one chunk')
  const message = Buffer.alloc(12 + payload.length)
  message[0] = chunkStreamId
  message.writeUIntBE(payload.length, 4, 3)
  message[7] = type
  message.writeUInt32LE(streamId, 8)
  payload.copy(message, 12)
  return message
}

function control(type: number, ...words: number[]): Buffer {
  const payload = Buffer.alloc(words.length * 4)
  words.forEach((word, index) => payload.writeUInt32BE(word, index * 4))
  return encode(CONTROL_STREAM, type, 0, payload)
}

function userControl(event: number, value: number): Buffer {
  const payload = Buffer.alloc(6)
  payload.writeUInt16BE(event)
  payload.writeUInt32BE(value, 2)
  return encode(CONTROL_STREAM, 4, 0, payload)
}

function command(streamId: number, ...values: AmfValue[]): Buffer {
  return encode(COMMAND_STREAM, 20, streamId, encodeAmf0(...values))
}

/** Acknowledgement (5.4.3) of all bytes received, modulo 2^32. */
export function acknowledgement(bytesReceived: number): Buffer {
  return control(3, bytesReceived % 0x1_0000_0000)
}

/** User control event Stream Begin (7.1.7). */
export function streamBegin(streamId: number): Buffer {
  return userControl(0, streamId)
}

/** User control event Ping Response (7.1.7). */
export function pingResponse(timestamp: number): Buffer {
  return userControl(7, timestamp)
}

/**
 * The reply to `connect`: Window Acknowledgement Size, Set Peer Bandwidth (dynamic), Set Chunk Size and `_result`. It
 * tells an Enhanced RTMP v2 publisher that every codec is forwarded. `capsEx` 0 means that the optional features
 * (reconnect, multitrack, ModEx, nanosecond offsets) are not supported.
 */
export function connectResult(transaction: number, objectEncoding: number): Buffer {
  const bandwidth = Buffer.alloc(5)
  bandwidth.writeUInt32BE(WINDOW_BYTES)
  bandwidth[4] = 2
  return Buffer.concat([
    control(5, WINDOW_BYTES),
    encode(CONTROL_STREAM, 6, 0, bandwidth),
    control(1, CHUNK_SIZE),
    command(
      0,
      '_result',
      transaction,
      {
        fmsVer: 'FMS/3,0,1,123',
        capabilities: 31,
        capsEx: 0,
        ...FORWARDED_CODECS,
      },
      {
        level: 'status',
        code: 'NetConnection.Connect.Success',
        description: 'Connection succeeded.',
        objectEncoding,
      },
    ),
  ])
}

/** The reply that rejects `connect`. */
export function connectRejected(transaction: number, description: string): Buffer {
  return Buffer.concat([
    control(1, CHUNK_SIZE),
    command(0, '_error', transaction, null, {
      level: 'error',
      code: 'NetConnection.Connect.Rejected',
      description,
    }),
  ])
}

/** `_result` with one value: the message stream id for `createStream`, undefined for the other calls. */
export function callResult(transaction: number, value: number | undefined): Buffer {
  return command(0, '_result', transaction, null, value)
}

/** `onStatus` message. */
export function status(streamId: number, level: 'status' | 'error', code: string, description: string): Buffer {
  return command(streamId, 'onStatus', 0, null, { level, code, description })
}
