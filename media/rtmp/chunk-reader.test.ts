import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChunkEncoder } from '../testing/chunk-encoder.ts'
import type { ChunkFormat } from '../testing/chunk-encoder.ts'
import { ChunkReader } from './chunk-reader.ts'
import type { ChunkReaderLimits, RtmpMessage } from './chunk-reader.ts'
import { RtmpProtocolError } from './errors.ts'

const MEBIBYTE = 1024 * 1024

function collect(limits: Partial<ChunkReaderLimits> = {}): { reader: ChunkReader; messages: RtmpMessage[] } {
  const messages: RtmpMessage[] = []
  const onMessage = (message: RtmpMessage): void => void messages.push(message)
  const defaults = { maxMessageBytes: 8 * MEBIBYTE, maxChunkStreams: 16, maxBufferedBytes: 16 * MEBIBYTE }
  return { reader: new ChunkReader({ ...defaults, ...limits, onMessage }), messages }
}

function message(over: Partial<RtmpMessage> = {}): RtmpMessage {
  return { type: 9, streamId: 1, chunkStreamId: 4, timestamp: 0, payload: Buffer.from('abc'), ...over }
}

/** Pushes `bytes` in pieces. Their lengths cycle through `lengths`. */
function pushSplit(reader: ChunkReader, bytes: Buffer, lengths: readonly number[]): void {
  let offset = 0
  for (let index = 0; offset < bytes.length; index++) {
    const length = lengths[index % lengths.length] ?? bytes.length
    reader.push(Buffer.from(bytes.subarray(offset, offset + length)))
    offset += length
  }
}

const someMessage = fc.record({
  type: fc.constantFrom(8, 9, 18, 20),
  streamId: fc.constantFrom(0, 1),
  chunkStreamId: fc.constantFrom(3, 4, 63, 64, 319, 320, 65_599),
  timestamp: fc.oneof(fc.nat(100_000), fc.integer({ min: 0xff_fff0, max: 0x100_0010 }), fc.nat(0xffff_ffff)),
  // Without 0xff, so that no payload can look like an extended timestamp (see below).
  payload: fc.oneof(
    fc.uint8Array({ max: 0xfe, maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.nat(3_000).map((length) => Buffer.alloc(length, length % 0xff)),
  ),
})

describe('chunk reader', () => {
  test('reads every chunk format from an independent encoder, split at any byte', () => {
    const steps = fc.array(
      fc.record({
        message: someMessage,
        format: fc.constantFrom<ChunkFormat>(0, 1, 2, 3),
        repeatExtended: fc.boolean(),
        newChunkSize: fc.option(fc.constantFrom(1, 100, 128, 4_096, 65_536), { freq: 8 }),
      }),
      { minLength: 1, maxLength: 12 },
    )
    fc.assert(
      fc.property(steps, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (list, cuts) => {
        const encoder = new ChunkEncoder()
        const parts: Buffer[] = []
        for (const { message, format, repeatExtended, newChunkSize } of list) {
          if (newChunkSize !== null) parts.push(encoder.changeChunkSize(newChunkSize))
          // If the extended timestamp is not repeated, a payload that starts with the same bytes is ambiguous.
          parts.push(encoder.encode(message, { format, repeatExtended: repeatExtended || format === 3 }))
        }
        const { reader, messages } = collect()
        pushSplit(reader, Buffer.concat(parts), cuts)
        expect(messages).toEqual(list.map((step) => step.message))
        expect(reader.bufferedBytes).toBe(0)
      }),
      { numRuns: 400 },
    )
  })

  test('reads interleaved chunks of two messages', () => {
    const encoder = new ChunkEncoder()
    const video = message({ payload: Buffer.alloc(1_000, 1) })
    const audio = message({ type: 8, chunkStreamId: 6, timestamp: 7, payload: Buffer.alloc(500, 2) })
    const [first, second] = [encoder.chunks(video), encoder.chunks(audio)]
    const order = first.flatMap((chunk, index) => [chunk, second[index] ?? Buffer.alloc(0)])
    for (const cut of [1, 7, 129, 100_000]) {
      const { reader, messages } = collect()
      pushSplit(reader, Buffer.concat(order), [cut])
      expect(messages).toEqual([audio, video])
    }
  })

  test.each([1, 128, 4_096, 65_536])('applies a chunk size of %d that is set between two messages', (size) => {
    const encoder = new ChunkEncoder()
    const sent = message({ payload: Buffer.alloc(200_000, 5) })
    const bytes = [encoder.encode(sent), encoder.changeChunkSize(size), encoder.encode(sent)]
    const { reader, messages } = collect()
    pushSplit(reader, Buffer.concat(bytes), [65_536])
    expect(messages).toEqual([sent, sent])
  })

  test('applies a chunk size that is set within a message from the next chunk on', () => {
    const encoder = new ChunkEncoder()
    const video = message({ payload: Buffer.alloc(600, 3) })
    const [first] = encoder.chunks(video)
    const change = encoder.changeChunkSize(4_096)
    const { reader, messages } = collect()
    reader.push(Buffer.concat([first!, change, Buffer.of(0xc4), video.payload.subarray(128)]))
    expect(messages).toEqual([video])
  })

  test.each([true, false])('reads extended timestamps (repeated in type 3 chunks: %s)', (repeatExtended) => {
    const encoder = new ChunkEncoder()
    const sent = [0xff_fffe, 0xff_ffff, 0x100_0000, 0xffff_ffff, 5].map((timestamp) =>
      message({ timestamp, payload: Buffer.alloc(400, 9) }),
    )
    const bytes = Buffer.concat(
      sent.map((one, index) => encoder.encode(one, { format: index === 2 ? 1 : 0, repeatExtended })),
    )
    for (const cut of [1, 2, 3, 5, 131, 100_000]) {
      const { reader, messages } = collect()
      pushSplit(reader, bytes, [cut])
      expect(messages).toEqual(sent)
    }
  })

  test('Abort discards the incomplete message of its chunk stream', () => {
    const encoder = new ChunkEncoder()
    const [first] = encoder.chunks(message({ payload: Buffer.alloc(600) }))
    const abort = encoder.encode(
      message({ type: 2, chunkStreamId: 2, streamId: 0, payload: Buffer.from([0, 0, 0, 4]) }),
    )
    const { reader, messages } = collect()
    reader.push(Buffer.concat([first!, abort]))
    expect(reader.bufferedBytes).toBe(0)
    reader.push(new ChunkEncoder().encode(message()))
    expect(messages).toEqual([message()])
  })

  test('payloads are copies of the input', () => {
    const bytes = new ChunkEncoder().encode(message())
    const { reader, messages } = collect()
    reader.push(bytes)
    bytes.fill(0)
    expect(messages[0]?.payload.toString()).toBe('abc')
  })

  test('allocates memory for received bytes, not for the declared length', () => {
    const { reader } = collect({ maxMessageBytes: 0xff_ffff })
    const declared = new ChunkEncoder().chunks(message({ payload: Buffer.alloc(0xff_ffff) }))[0]!
    reader.push(declared.subarray(0, 20))
    expect(reader.bufferedBytes).toBeLessThan(64)
    reader.push(declared.subarray(20))
    expect(reader.bufferedBytes).toBeLessThanOrEqual(256)
  })

  test('limits the total bytes of incomplete messages', () => {
    const { reader } = collect({ maxBufferedBytes: 10_000 })
    const push = (): void => {
      for (let id = 3; id < 15; id++) {
        const encoder = new ChunkEncoder()
        encoder.chunkSize = 65_536
        reader.push(encoder.encode(message({ chunkStreamId: id, payload: Buffer.alloc(2_000) })).subarray(0, 128 + 12))
        for (let part = 1; part < 8; part++) reader.push(Buffer.concat([Buffer.of(0xc0 | id), Buffer.alloc(128)]))
      }
    }
    expect(push).toThrow('too many bytes in incomplete messages')
    expect(reader.bufferedBytes).toBeLessThanOrEqual(10_000)
  })

  const header = (format: number, fields: string): Buffer =>
    Buffer.concat([Buffer.of((format << 6) | 4), Buffer.from(fields, 'hex')])
  test.each<[string, Buffer]>([
    ['a chunk stream that starts with type 2', header(2, '000000')],
    ['a chunk stream that starts with type 3', header(3, '00')],
    ['Set Chunk Size 0', Buffer.from('02000000000004010000000000000000', 'hex')],
    ['Set Chunk Size 2^31', Buffer.from('02000000000004010000000080000000', 'hex')],
    ['Set Chunk Size without a body', Buffer.from('020000000000000100000000', 'hex')],
    ['Abort without a body', Buffer.from('020000000000000200000000', 'hex')],
    ['a video message of 16 MiB', header(0, '000000ffffff0901000000')],
    ['a command of 65,537 bytes', header(0, '0000000100011400000000')],
    ['a control message of 1,025 bytes', header(0, '0000000004010400000000')],
    [
      'a type 0 chunk within a message',
      Buffer.concat([header(0, '0000000003000901000000'), Buffer.alloc(128), header(0, '0000000003000901000000')]),
    ],
  ])('rejects %s', (_name, bytes) => {
    for (const cut of [1, 1_000]) expect(() => pushSplit(collect().reader, bytes, [cut])).toThrow(RtmpProtocolError)
  })

  test('rejects the seventeenth chunk stream', () => {
    const { reader, messages } = collect()
    for (let id = 3; id < 19; id++) reader.push(new ChunkEncoder().encode(message({ chunkStreamId: id })))
    expect(messages).toHaveLength(16)
    expect(() => reader.push(new ChunkEncoder().encode(message({ chunkStreamId: 19 })))).toThrow(
      'too many chunk streams',
    )
  })

  test('buffers bytes while suspended, up to its limit, and continues on resume', () => {
    const encoder = new ChunkEncoder()
    const sent = [1, 2, 3].map((timestamp) => message({ timestamp, payload: Buffer.alloc(300, timestamp) }))
    const bytes = Buffer.concat(sent.map((one) => encoder.encode(one)))
    for (const cut of [1, 50, 1_000]) {
      const messages: RtmpMessage[] = []
      const reader: ChunkReader = new ChunkReader({
        maxMessageBytes: MEBIBYTE,
        maxChunkStreams: 16,
        maxBufferedBytes: 2_000,
        onMessage: (one) => {
          messages.push(one)
          if (messages.length === 1) reader.suspend()
        },
      })
      pushSplit(reader, bytes, [cut])
      expect(messages).toHaveLength(1)
      expect(() => reader.push(Buffer.alloc(1_999))).toThrow('before the reply')
      reader.resume()
      expect(messages).toEqual(sent)
    }
  })

  test('arbitrary bytes parse or throw RtmpProtocolError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.integer({ min: 1, max: 2_000 }), (bytes, cut) => {
        const { reader } = collect()
        try {
          pushSplit(reader, Buffer.from(bytes), [cut])
        } catch (error) {
          expect(error).toBeInstanceOf(RtmpProtocolError)
        }
        expect(reader.bufferedBytes).toBeLessThanOrEqual(16 * bytes.length)
      }),
      { numRuns: 3_000 },
    )
  })
})
