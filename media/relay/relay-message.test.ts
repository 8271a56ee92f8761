import { expect, test } from 'vitest'
import { ChunkReader, type RtmpMessage } from '../rtmp/chunk-reader.ts'
import { OUTGOING_CHUNK_SIZE, encodeAbsolute } from '../rtmp/chunk-writer.ts'
import type { MediaKind } from '../types.ts'
import { continues, encodeBatch, noTimestamps, wireFor, type RelayBatch, type WirePosition } from './relay-message.ts'

/** Returns a function that encodes batches on one timeline, as a source does. */
function timeline(): (...messages: [MediaKind, number][]) => RelayBatch {
  const last: Record<MediaKind, number> = { audio: -1, video: -1, data: -1 }
  return (...messages) =>
    encodeBatch(
      messages.map(([kind, timestamp]) => {
        const previousTimestamp = last[kind]
        last[kind] = timestamp
        const payload = Buffer.alloc(kind === 'video' ? 9_000 : 100, timestamp & 0xff)
        return { kind, timestamp, previousTimestamp, payload, isSequenceHeader: false, isKeyframe: false }
      }),
    )
}

/** One connection. It uses the shared bytes of a batch if they are valid, and otherwise encodes each message. */
class Receiver {
  readonly messages: RtmpMessage[] = []
  shared = 0
  readonly #position: WirePosition
  readonly #reader = new ChunkReader({
    maxMessageBytes: 65_536,
    maxChunkStreams: 8,
    maxBufferedBytes: 1 << 20,
    onMessage: (message) => this.messages.push(message),
  })

  constructor(messageStreamId: number, base: number | null = null) {
    this.#position = { base, messageStreamId, last: noTimestamps() }
    const size = Buffer.alloc(4)
    size.writeUInt32BE(OUTGOING_CHUNK_SIZE)
    this.#reader.push(encodeAbsolute({ type: 1, chunkStreamId: 2, payload: size }, { timestamp: 0, streamId: 0 }, 128))
  }

  take(batch: RelayBatch): void {
    if (continues(batch, this.#position)) {
      this.shared += 1
      this.#reader.push(batch.wire)
      Object.assign(
        this.#position.last,
        Object.fromEntries(Object.entries(batch.endsAt).filter(([, at]) => at !== undefined)),
      )
    } else for (const message of batch.messages) this.#reader.push(wireFor(message, this.#position))
  }
}

test('connections with different time bases and stream ids share the same bytes', () => {
  const next = timeline()
  const [early, late] = [new Receiver(1), new Receiver(9)]
  early.take(next(['video', 1_000], ['audio', 1_005]))
  for (let time = 1_033; time < 3_000; time += 33) early.take(next(['video', time]))
  const joins = next(['video', 3_003], ['audio', 3_005])
  early.take(joins)
  late.take(joins)
  const shared = next(['audio', 3_026], ['video', 3_036], ['audio', 3_047])
  for (const receiver of [early, late]) {
    const before = receiver.shared
    receiver.take(shared)
    expect(receiver.shared).toBe(before + 1)
  }
  expect(early.messages.at(-1)).toMatchObject({ timestamp: 3_047 - 1_000, streamId: 1 })
  expect(late.messages.at(-1)).toMatchObject({ timestamp: 3_047 - 3_003, streamId: 9 })
})

test('after dropped messages, one separate encoding brings a connection back to the shared bytes', () => {
  const next = timeline()
  const receiver = new Receiver(1)
  receiver.take(next(['video', 0], ['audio', 0]))
  next(['video', 33])
  next(['video', 66])
  receiver.take(next(['audio', 21]))
  receiver.take(next(['video', 100]))
  expect(receiver.shared).toBe(1)
  receiver.take(next(['video', 133]))
  expect(receiver.shared).toBe(2)
  expect(receiver.messages.map(({ timestamp }) => timestamp)).toEqual([0, 0, 21, 100, 133])
})

test.each([0xff_ffff, 0x1_0000_0000, 0x2_0000_0000])('timestamps on the wire stay continuous across %i', (limit) => {
  const next = timeline()
  const receiver = new Receiver(1, 0)
  const times: number[] = []
  for (let time = limit - 100; time < limit + 100; time += 20) {
    times.push(time)
    receiver.take(next(['video', time]))
  }
  // A track that starts late begins with an absolute timestamp, which needs more than three bytes.
  receiver.take(next(['audio', limit + 110]))
  receiver.take(next(['audio', limit + 130]))
  const video = receiver.messages.filter(({ type }) => type === 9)
  const audio = receiver.messages.filter(({ type }) => type === 8)
  expect(video.map(({ timestamp }) => timestamp)).toEqual(times.map((time) => time % 0x1_0000_0000))
  expect(audio.map(({ timestamp }) => timestamp)).toEqual([110, 130].map((past) => (limit + past) % 0x1_0000_0000))
  expect(video.every(({ payload }, index) => payload.equals(Buffer.alloc(9_000, times[index]! & 0xff)))).toBe(true)
})

test('a message from before the time base of a connection gets timestamp 0', () => {
  const next = timeline()
  const receiver = new Receiver(1, 500)
  receiver.take(next(['video', 500], ['audio', 480]))
  receiver.take(next(['audio', 501]))
  expect(receiver.messages.map(({ timestamp }) => timestamp)).toEqual([0, 0, 1])
})
