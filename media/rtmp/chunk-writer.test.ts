import { expect, test } from 'vitest'
import { ChunkReader, type RtmpMessage } from './chunk-reader.ts'
import { encodeAbsolute, encodeDelta } from './chunk-writer.ts'

const EXTENDED = 0xff_ffff

function read(chunkSize: number, ...parts: Buffer[]): RtmpMessage[] {
  const messages: RtmpMessage[] = []
  const reader = new ChunkReader({
    maxMessageBytes: 1 << 24,
    maxChunkStreams: 8,
    maxBufferedBytes: 1 << 25,
    onMessage: (message) => messages.push(message),
  })
  const size = Buffer.alloc(4)
  size.writeUInt32BE(chunkSize)
  reader.push(encodeAbsolute({ type: 1, chunkStreamId: 2, payload: size }, { timestamp: 0, streamId: 0 }, 128))
  reader.push(Buffer.concat(parts))
  return messages
}

function message(bytes: number): { type: number; chunkStreamId: number; payload: Buffer } {
  // The payload looks like chunk headers and extended timestamps.
  return { type: 9, chunkStreamId: 7, payload: Buffer.alloc(bytes, 0xc7) }
}

test.each([1, 2, 128, 4096, 65_536])('chunks of %i bytes are read back as the same message', (chunkSize) => {
  for (const bytes of [0, 1, 127, 128, 129, 4096, 4097, 10_000]) {
    for (const timestamp of [0, EXTENDED - 1, EXTENDED, 0xffff_ffff]) {
      const whole = message(bytes)
      const first = encodeAbsolute(whole, { timestamp, streamId: 5 }, chunkSize)
      const second = encodeDelta(whole, 40, chunkSize)
      const [one, two] = read(chunkSize, first, second)
      expect(one).toMatchObject({ type: 9, streamId: 5, timestamp })
      expect(one!.payload.equals(whole.payload)).toBe(true)
      expect(two).toMatchObject({ streamId: 5, timestamp: (timestamp + 40) % 0x1_0000_0000 })
      expect(two!.payload.equals(whole.payload)).toBe(true)
    }
  }
})

test('absolute timestamps wrap at 2^32', () => {
  const [one] = read(4096, encodeAbsolute(message(3), { timestamp: 0x1_0000_0000 + 7, streamId: 1 }, 4096))
  expect(one!.timestamp).toBe(7)
})

test('a delta of 0xffffff or more is written as an extended timestamp', () => {
  const start = encodeAbsolute(message(5), { timestamp: 10, streamId: 1 }, 4096)
  const [, two] = read(4096, start, encodeDelta(message(9_000), EXTENDED + 5, 4096))
  expect(two!.timestamp).toBe(EXTENDED + 15)
  expect(two!.payload).toHaveLength(9_000)
})
