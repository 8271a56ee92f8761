import type { RtmpMessage } from '../rtmp/chunk-reader.ts'

export type ChunkFormat = 0 | 1 | 2 | 3

export interface EncodeOptions {
  /** Preferred header format. A fuller one is used if this one cannot represent the message. */
  readonly format?: ChunkFormat
  /** Whether type 3 chunks repeat an extended timestamp. The specification requires it, but some encoders do not. */
  readonly repeatExtended?: boolean
}

/** The last header of a chunk stream. */
interface LastHeader {
  timestamp: number
  field: number
  length: number
  type: number
  streamId: number
}

/** A simple chunk encoder, independent of `rtmp/chunk-writer.ts`, for tests of the chunk reader. */
export class ChunkEncoder {
  chunkSize = 128
  readonly #lastHeaders = new Map<number, LastHeader>()

  /** Encodes a message as one buffer per chunk, so that callers can interleave chunk streams. */
  chunks(message: RtmpMessage, options: EncodeOptions = {}): Buffer[] {
    const { chunkStreamId, type, streamId, timestamp, payload } = message
    const last = this.#lastHeaders.get(chunkStreamId)
    const delta = last === undefined ? 0 : (timestamp - last.timestamp) >>> 0
    const format = last === undefined ? 0 : possibleFormat(options.format ?? 0, message, last, delta)
    const field = format === 0 ? timestamp : delta
    this.#lastHeaders.set(chunkStreamId, { timestamp, field, length: payload.length, type, streamId })
    const head: Buffer[] = [basicHeader(format, chunkStreamId)]
    if (format < 3) head.push(uint(Math.min(field, 0xff_ffff), 3))
    if (format < 2) head.push(uint(payload.length, 3), Buffer.of(type))
    if (format === 0) {
      const id = Buffer.alloc(4)
      id.writeUInt32LE(streamId)
      head.push(id)
    }
    const extended = field >= 0xff_ffff ? uint(field, 4) : Buffer.alloc(0)
    const repeated = options.repeatExtended === false ? Buffer.alloc(0) : extended
    head.push(format === 3 ? repeated : extended)
    const chunks = [Buffer.concat([...head, payload.subarray(0, this.chunkSize)])]
    for (let offset = this.chunkSize; offset < payload.length; offset += this.chunkSize) {
      const part = payload.subarray(offset, offset + this.chunkSize)
      chunks.push(Buffer.concat([basicHeader(3, chunkStreamId), repeated, part]))
    }
    return chunks
  }

  encode(message: RtmpMessage, options: EncodeOptions = {}): Buffer {
    return Buffer.concat(this.chunks(message, options))
  }

  /** Encodes Set Chunk Size. Later messages use `size`. */
  changeChunkSize(size: number): Buffer {
    const message = { type: 1, streamId: 0, chunkStreamId: 2, timestamp: 0, payload: uint(size, 4) }
    const bytes = this.encode(message)
    this.chunkSize = size
    return bytes
  }
}

function possibleFormat(preferred: ChunkFormat, message: RtmpMessage, last: LastHeader, delta: number): ChunkFormat {
  const sameKind = last.length === message.payload.length && last.type === message.type
  if (last.streamId !== message.streamId) return 0
  if (preferred === 3 && (!sameKind || last.field !== delta)) return possibleFormat(2, message, last, delta)
  return preferred === 2 && !sameKind ? 1 : preferred
}

function basicHeader(format: number, id: number): Buffer {
  if (id < 64) return Buffer.of((format << 6) | id)
  if (id < 320) return Buffer.of(format << 6, id - 64)
  return Buffer.of((format << 6) | 1, (id - 64) & 0xff, (id - 64) >> 8)
}

function uint(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}
