import {
  CHUNK_STREAM,
  MESSAGE_TYPE,
  OUTGOING_CHUNK_SIZE,
  deltaSize,
  encodeAbsolute,
  encodeDelta,
  encodeDeltaInto,
  type OutgoingMessage,
} from '../rtmp/chunk-writer.ts'
import type { MediaKind, MediaMessage } from '../types.ts'

/** A message on the timeline of a source, cut into chunks once for all outputs. */
export interface RelayMessage extends MediaMessage {
  /** Timestamp of the previous message of the same kind. -1 for the first one. */
  readonly previousTimestamp: number
  /**
   * The message as chunks with a delta header. Valid on every connection whose last message of this kind has
   * `previousTimestamp`. The connection's time base and message stream id do not matter.
   */
  readonly wire: Buffer
}

/** Messages that arrived together. An output that keeps up sends them with one write. */
export interface RelayBatch {
  readonly messages: readonly RelayMessage[]
  /** The `wire` of all messages, in one buffer. */
  readonly wire: Buffer
  /** By kind: the last timestamp of a connection on which `wire` is valid. Undefined if the batch has no message of the kind. */
  readonly startsAfter: Readonly<Record<MediaKind, number | undefined>>
  /** By kind: the last timestamp of a connection after `wire`. */
  readonly endsAt: Readonly<Record<MediaKind, number | undefined>>
}

/** The state of a connection's byte stream that chunk headers depend on. */
export interface WirePosition {
  /** The timeline's timestamp that is 0 on this connection. Null until something was sent. */
  base: number | null
  readonly messageStreamId: number
  /** By kind: timestamp of the last message that was sent. Undefined before the first one. */
  readonly last: Record<MediaKind, number | undefined>
}

export type TimedMessage = MediaMessage & { readonly previousTimestamp: number }

/** Cuts messages into chunks, all in one buffer. */
export function encodeBatch(timed: readonly TimedMessage[]): RelayBatch {
  let size = 0
  for (const message of timed) size += deltaSize(message.payload.length, deltaOf(message), OUTGOING_CHUNK_SIZE)
  const wire = Buffer.allocUnsafe(size)
  const startsAfter: Record<MediaKind, number | undefined> = noTimestamps()
  const endsAt: Record<MediaKind, number | undefined> = noTimestamps()
  let offset = 0
  const messages = timed.map((message): RelayMessage => {
    const start = offset
    offset = encodeDeltaInto(wire, start, outgoing(message), deltaOf(message), OUTGOING_CHUNK_SIZE)
    startsAfter[message.kind] ??= message.previousTimestamp
    endsAt[message.kind] = message.timestamp
    return { ...message, wire: wire.subarray(start, offset) }
  })
  return { messages, wire, startsAfter, endsAt }
}

/** Whether the shared bytes of a batch are valid on this connection now. */
export function continues(batch: RelayBatch, position: WirePosition): boolean {
  const { startsAfter } = batch
  const { last } = position
  return (
    (startsAfter.video === undefined || startsAfter.video === last.video) &&
    (startsAfter.audio === undefined || startsAfter.audio === last.audio) &&
    (startsAfter.data === undefined || startsAfter.data === last.data)
  )
}

/**
 * The bytes of one message for one connection: the shared ones if they are valid, otherwise a separate encoding (first
 * message of its kind, or after messages were dropped). Updates the position.
 */
export function wireFor(message: RelayMessage, position: WirePosition): Buffer {
  const { kind } = message
  const last = position.last[kind]
  if (last !== undefined && last === message.previousTimestamp) {
    position.last[kind] = message.timestamp
    return message.wire
  }
  position.base ??= message.timestamp
  const timestamp = Math.max(message.timestamp, last ?? position.base)
  position.last[kind] = timestamp
  if (last !== undefined) return encodeDelta(outgoing(message), timestamp - last, OUTGOING_CHUNK_SIZE)
  const header = { timestamp: timestamp - position.base, streamId: position.messageStreamId }
  return encodeAbsolute(outgoing(message), header, OUTGOING_CHUNK_SIZE)
}

export function noTimestamps(): Record<MediaKind, number | undefined> {
  return { audio: undefined, video: undefined, data: undefined }
}

function deltaOf(message: TimedMessage): number {
  // The shared bytes of the first message of a kind are never used, so its delta does not matter.
  return message.previousTimestamp < 0 ? 0 : message.timestamp - message.previousTimestamp
}

function outgoing(message: MediaMessage): OutgoingMessage {
  return { type: MESSAGE_TYPE[message.kind], chunkStreamId: CHUNK_STREAM[message.kind], payload: message.payload }
}
