import { RtmpProtocolError } from './errors.ts'

/** A complete RTMP message. The reader does not reuse `payload`, so it can be kept and shared without a copy. */
export interface RtmpMessage {
  /** Message type id (RTMP 1.0, section 7.1). */
  readonly type: number
  readonly streamId: number
  readonly chunkStreamId: number
  /** Absolute timestamp: milliseconds modulo 2^32. */
  readonly timestamp: number
  readonly payload: Buffer
}

export interface ChunkReaderLimits {
  /** Bytes of one audio, video or data message. Commands and control messages have lower limits. */
  readonly maxMessageBytes: number
  readonly maxChunkStreams: number
  /** Memory for incomplete messages of all chunk streams and for bytes received while suspended. */
  readonly maxBufferedBytes: number
}

export interface ChunkReaderOptions extends ChunkReaderLimits {
  /** Called for each message except Set Chunk Size and Abort, which the reader handles itself. */
  readonly onMessage: (message: RtmpMessage) => void
}

interface ChunkStream {
  readonly id: number
  timestamp: number
  /** Timestamp or delta of the last header. A type 3 chunk that starts a message repeats it. */
  timestampField: number
  extended: boolean
  length: number
  type: number
  streamId: number
  payload: Buffer
  received: number
  inMessage: boolean
}

const SET_CHUNK_SIZE = 1
const ABORT = 2
const MAX_CHUNK_SIZE = 0xff_ffff
const MAX_COMMAND_BYTES = 65_536
const MAX_CONTROL_BYTES = 1_024
const HEADER_BYTES = [11, 7, 3, 0] as const
const LONGEST_HEADER = 3 + 11 + 4
const EXTENDED = 0xff_ffff
const EMPTY = Buffer.alloc(0)

/**
 * Parses the chunks of an untrusted peer into messages (RTMP 1.0, section 5.3). Input may be split at any byte. Memory is
 * allocated as payload arrives, not by the declared length. A violation of the protocol or of a limit throws
 * {@link RtmpProtocolError}; the reader must not be used after that.
 */
export class ChunkReader {
  /** Bytes pushed so far, chunk headers included. */
  bytesReceived = 0
  readonly #onMessage: (message: RtmpMessage) => void
  #limits: ChunkReaderLimits
  readonly #streams = new Map<number, ChunkStream>()
  readonly #partialHeader = Buffer.alloc(LONGEST_HEADER)
  #partialHeaderBytes = 0
  #chunkSize = 128
  #current: ChunkStream | null = null
  #chunkRemaining = 0
  #buffered = 0
  #suspended = false
  #held: Buffer = EMPTY

  constructor(options: ChunkReaderOptions) {
    this.#onMessage = options.onMessage
    this.#limits = options
  }

  /** Memory used by incomplete messages and by bytes received while suspended. */
  get bufferedBytes(): number {
    return this.#buffered + this.#held.length
  }

  /** Replaces the given limits from the next chunk on. */
  setLimits(limits: Partial<ChunkReaderLimits>): void {
    this.#limits = { ...this.#limits, ...limits }
  }

  /** Stops after the current message. Further bytes are buffered unparsed until {@link resume}. */
  suspend(): void {
    this.#suspended = true
  }

  /** Parses the buffered bytes and continues. */
  resume(): void {
    this.#suspended = false
    const held = this.#held
    this.#held = EMPTY
    if (held.length > 0) this.#parse(held)
  }

  /**
   * Parses the next bytes. Messages that they complete are delivered before this returns.
   *
   * @throws RtmpProtocolError when the peer violates the protocol or a limit.
   */
  push(bytes: Buffer): void {
    this.bytesReceived += bytes.length
    if (this.#suspended) this.#hold(bytes)
    else this.#parse(bytes)
  }

  #hold(bytes: Buffer): void {
    if (this.bufferedBytes + bytes.length > this.#limits.maxBufferedBytes) {
      throw new RtmpProtocolError('too many bytes sent before the reply')
    }
    this.#held = Buffer.concat([this.#held, bytes])
  }

  #parse(bytes: Buffer): void {
    let offset = 0
    while (offset < bytes.length) {
      if (this.#suspended) {
        this.#hold(bytes.subarray(offset))
        return
      }
      offset =
        this.#current === null ? this.#readHeader(bytes, offset) : this.#readPayload(this.#current, bytes, offset)
    }
  }

  #readHeader(bytes: Buffer, offset: number): number {
    if (this.#partialHeaderBytes === 0) {
      const size = this.#headerSize(bytes, offset, bytes.length)
      if (size > 0) {
        this.#startChunk(bytes, offset, size)
        return offset + size
      }
    }
    // The header is split over several reads. It is collected byte by byte; it has at most 18 bytes.
    let position = offset
    while (position < bytes.length) {
      this.#partialHeader[this.#partialHeaderBytes++] = bytes[position++]!
      const size = this.#headerSize(this.#partialHeader, 0, this.#partialHeaderBytes)
      if (size === 0) continue
      const rest = this.#partialHeader.subarray(size, this.#partialHeaderBytes)
      this.#partialHeaderBytes = 0
      this.#startChunk(this.#partialHeader, 0, size)
      // Bytes read in search of an extended timestamp that is absent belong to the payload.
      if (rest.length > 0) this.#parse(Buffer.from(rest))
      return position
    }
    return position
  }

  /** Size of the chunk header at `start`, or 0 when more bytes are needed to know it. */
  #headerSize(bytes: Buffer, start: number, end: number): number {
    const first = bytes[start]!
    const basic = basicHeaderBytes(first)
    const format = first >> 6
    const plain = basic + HEADER_BYTES[format as 0 | 1 | 2 | 3]
    if (end - start < plain) return 0
    if (format < 3) {
      if (bytes.readUIntBE(start + basic, 3) !== EXTENDED) return plain
      return end - start < plain + 4 ? 0 : plain + 4
    }
    const stream = this.#streams.get(chunkStreamId(bytes, start, basic))
    if (stream === undefined || !stream.extended) return plain
    // Type 3 chunks should repeat the extended timestamp, but some encoders do not. The chance that four payload bytes
    // equal it is 1 in 2^32. If the message has fewer than four bytes left, the next chunk header follows them.
    if (end - start < plain + 4) {
      return this.#cannotBeExtended(stream, bytes, start + plain, end) ? plain : 0
    }
    const value = bytes.readUInt32BE(start + plain)
    return value === stream.timestampField || value === stream.timestamp ? plain + 4 : plain
  }

  #cannotBeExtended(stream: ChunkStream, bytes: Buffer, from: number, end: number): boolean {
    const byField = Buffer.alloc(4)
    byField.writeUInt32BE(stream.timestampField)
    const byTimestamp = Buffer.alloc(4)
    byTimestamp.writeUInt32BE(stream.timestamp)
    const seen = bytes.subarray(from, end)
    return !byField.subarray(0, seen.length).equals(seen) && !byTimestamp.subarray(0, seen.length).equals(seen)
  }

  #startChunk(bytes: Buffer, start: number, size: number): void {
    const first = bytes[start]!
    const basic = basicHeaderBytes(first)
    const format = first >> 6
    const id = chunkStreamId(bytes, start, basic)
    const stream = this.#streams.get(id) ?? this.#open(id, format)
    if (stream.inMessage && format !== 3)
      throw new RtmpProtocolError('a message started before the previous one was complete')
    if (format < 3) {
      const at = start + basic
      const field = bytes.readUIntBE(at, 3)
      stream.extended = field === EXTENDED
      stream.timestampField = stream.extended ? bytes.readUInt32BE(start + size - 4) : field
      if (format < 2) {
        stream.length = bytes.readUIntBE(at + 3, 3)
        stream.type = bytes[at + 6]!
      }
      if (format === 0) stream.streamId = bytes.readUInt32LE(at + 7)
    }
    if (!stream.inMessage) this.#startMessage(stream, format)
    this.#current = stream
    this.#chunkRemaining = Math.min(this.#chunkSize, stream.length - stream.received)
    if (this.#chunkRemaining === 0) this.#endChunk(stream)
  }

  #open(id: number, format: number): ChunkStream {
    // librtmp starts its control chunk stream with type 1.
    if (format > 1) throw new RtmpProtocolError('a chunk stream started without a full header')
    if (this.#streams.size >= this.#limits.maxChunkStreams) throw new RtmpProtocolError('too many chunk streams')
    const stream: ChunkStream = {
      id,
      timestamp: 0,
      timestampField: 0,
      extended: false,
      length: 0,
      type: 0,
      streamId: 0,
      payload: EMPTY,
      received: 0,
      inMessage: false,
    }
    this.#streams.set(id, stream)
    return stream
  }

  #startMessage(stream: ChunkStream, format: number): void {
    // Section 5.3.1.2.4: a type 3 chunk that starts a message uses the last timestamp field as its delta.
    stream.timestamp = format === 0 ? stream.timestampField : (stream.timestamp + stream.timestampField) >>> 0
    if (stream.length > messageLimit(stream.type, this.#limits.maxMessageBytes)) {
      throw new RtmpProtocolError(`message of type ${stream.type} declares ${stream.length} bytes`)
    }
    stream.inMessage = true
    stream.received = 0
  }

  #readPayload(stream: ChunkStream, bytes: Buffer, offset: number): number {
    const count = Math.min(this.#chunkRemaining, bytes.length - offset)
    const needed = stream.received + count
    if (needed > stream.payload.length) this.#grow(stream, needed, bytes.length - offset)
    bytes.copy(stream.payload, stream.received, offset, offset + count)
    stream.received = needed
    this.#chunkRemaining -= count
    if (this.#chunkRemaining === 0) this.#endChunk(stream)
    return offset + count
  }

  /** @param available unread input bytes; a message that they complete gets a buffer of its exact size */
  #grow(stream: ChunkStream, needed: number, available: number): void {
    const wanted = Math.max(needed, stream.payload.length * 2, stream.received + available)
    const capacity = Math.min(stream.length, wanted)
    this.#reserve(capacity - stream.payload.length)
    const grown = Buffer.allocUnsafe(capacity)
    stream.payload.copy(grown, 0, 0, stream.received)
    stream.payload = grown
  }

  #reserve(bytes: number): void {
    if (this.#buffered + bytes > this.#limits.maxBufferedBytes) {
      throw new RtmpProtocolError('too many bytes in incomplete messages')
    }
    this.#buffered += bytes
  }

  #endChunk(stream: ChunkStream): void {
    this.#current = null
    if (stream.received < stream.length) return
    const payload = stream.payload
    this.#forget(stream)
    const message = {
      type: stream.type,
      streamId: stream.streamId,
      chunkStreamId: stream.id,
      timestamp: stream.timestamp,
      payload,
    }
    if (stream.type === SET_CHUNK_SIZE) this.#setChunkSize(payload)
    else if (stream.type === ABORT) this.#abort(payload)
    else this.#onMessage(message)
  }

  #forget(stream: ChunkStream): void {
    this.#buffered -= stream.payload.length
    stream.payload = EMPTY
    stream.received = 0
    stream.inMessage = false
  }

  #setChunkSize(payload: Buffer): void {
    if (payload.length < 4) throw new RtmpProtocolError('Set Chunk Size is truncated')
    const size = payload.readUInt32BE()
    if (size < 1 || size > MAX_CHUNK_SIZE) throw new RtmpProtocolError(`chunk size ${size} is out of range`)
    this.#chunkSize = size
  }

  #abort(payload: Buffer): void {
    if (payload.length < 4) throw new RtmpProtocolError('Abort is truncated')
    const stream = this.#streams.get(payload.readUInt32BE())
    if (stream !== undefined) this.#forget(stream)
  }
}

function basicHeaderBytes(first: number): number {
  const id = first & 0x3f
  return id === 0 ? 2 : id === 1 ? 3 : 1
}

function chunkStreamId(bytes: Buffer, start: number, basic: number): number {
  if (basic === 1) return bytes[start]! & 0x3f
  if (basic === 2) return 64 + bytes[start + 1]!
  return 64 + bytes.readUInt16LE(start + 1)
}

function messageLimit(type: number, maxMessageBytes: number): number {
  if (type === 8 || type === 9 || type === 15 || type === 18 || type === 22) return maxMessageBytes
  return Math.min(maxMessageBytes, type <= 6 ? MAX_CONTROL_BYTES : MAX_COMMAND_BYTES)
}
