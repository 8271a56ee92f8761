import type { RtmpMessage } from '../rtmp/chunk-reader.ts'

export type ChunkFormat = 0 | 1 | 2 | 3

export interface EncodeOptions {
  /** Header format wished for; one that cannot say what must be said gives way to a fuller one. */
  readonly format?: ChunkFormat
  /** Type 3 chunks repeat an extended timestamp, as the specification wants and some encoders do not. */
  readonly repeatExtended?: boolean
}

interface Sent {
  timestamp: number
  field: number
  length: number
  type: number
  streamId: number
}

/** Writes messages as a publisher does, in the plainest way: the counterpart that the chunk reader is tested against. */
export class ChunkEncoder {
  chunkSize = 128
  readonly #sent = new Map<number, Sent>()

  /** One buffer for each chunk, so that a caller can interleave them with those of other chunk streams. */
  chunks(message: RtmpMessage, options: EncodeOptions = {}): Buffer[] {
    const { chunkStreamId, type, streamId, timestamp, payload } = message
    const last = this.#sent.get(chunkStreamId)
    const delta = last === undefined ? 0 : (timestamp - last.timestamp) >>> 0
    const format = last === undefined ? 0 : possibleFormat(options.format ?? 0, message, last, delta)
    const field = format === 0 ? timestamp : delta
    this.#sent.set(chunkStreamId, { timestamp, field, length: payload.length, type, streamId })
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

  /** Set Chunk Size: what is encoded after it uses `size`. */
  changeChunkSize(size: number): Buffer {
    const message = { type: 1, streamId: 0, chunkStreamId: 2, timestamp: 0, payload: uint(size, 4) }
    const bytes = this.encode(message)
    this.chunkSize = size
    return bytes
  }
}

function possibleFormat(wish: ChunkFormat, message: RtmpMessage, last: Sent, delta: number): ChunkFormat {
  const sameKind = last.length === message.payload.length && last.type === message.type
  if (last.streamId !== message.streamId) return 0
  if (wish === 3 && (!sameKind || last.field !== delta)) return possibleFormat(2, message, last, delta)
  return wish === 2 && !sameKind ? 1 : wish
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
