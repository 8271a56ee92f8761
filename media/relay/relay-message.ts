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

/** A message on a source's continuous timeline, cut into chunks once for all outputs. */
export interface RelayMessage extends MediaMessage {
  /** Where the message of the same kind before it lies on the timeline; -1 for the first. */
  readonly previousTimestamp: number
  /**
   * The message as chunks with a delta header. Right for every connection whose last message of this kind lies at
   * `previousTimestamp`, whatever its own time base and message stream id are.
   */
  readonly wire: Buffer
}

/** Messages that arrived together: one write for an output that keeps up. */
export interface RelayBatch {
  readonly messages: readonly RelayMessage[]
  /** The `wire` of all messages, one after another in the same memory. */
  readonly wire: Buffer
  /** By kind: where a connection must stand to take `wire` as it is; undefined when the batch has none of that kind. */
  readonly expects: Readonly<Record<MediaKind, number | undefined>>
  /** By kind: where a connection stands after it. */
  readonly leaves: Readonly<Record<MediaKind, number | undefined>>
}

/** What tells one connection's byte stream from another's. */
export interface WirePosition {
  /** Timeline position that is 0 on this connection; null until something was sent. */
  base: number | null
  readonly messageStreamId: number
  /** By kind: timeline position of the last message sent; undefined before the first. */
  readonly last: Record<MediaKind, number | undefined>
}

export type TimedMessage = MediaMessage & { readonly previousTimestamp: number }

/** Cuts messages into chunks, all in one piece of memory. */
export function encodeBatch(timed: readonly TimedMessage[]): RelayBatch {
  let size = 0
  for (const message of timed) size += deltaSize(message.payload.length, deltaOf(message), OUTGOING_CHUNK_SIZE)
  const wire = Buffer.allocUnsafe(size)
  const expects: RelayBatch['expects'] & Record<MediaKind, number | undefined> = noneOfEach()
  const leaves: Record<MediaKind, number | undefined> = noneOfEach()
  let offset = 0
  const messages = timed.map((message): RelayMessage => {
    const start = offset
    offset = encodeDeltaInto(wire, start, outgoing(message), deltaOf(message), OUTGOING_CHUNK_SIZE)
    expects[message.kind] ??= message.previousTimestamp
    leaves[message.kind] = message.timestamp
    return { ...message, wire: wire.subarray(start, offset) }
  })
  return { messages, wire, expects, leaves }
}

/** Whether the shared bytes of a batch continue this connection. */
export function continues(batch: RelayBatch, position: WirePosition): boolean {
  const { expects } = batch
  const { last } = position
  return (
    (expects.video === undefined || expects.video === last.video) &&
    (expects.audio === undefined || expects.audio === last.audio) &&
    (expects.data === undefined || expects.data === last.data)
  )
}

/**
 * The bytes of one message for one connection: the shared ones where they fit, else (first of its kind, or after
 * messages were left out) bytes of its own. Moves the position on.
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

export function noneOfEach(): Record<MediaKind, number | undefined> {
  return { audio: undefined, video: undefined, data: undefined }
}

function deltaOf(message: TimedMessage): number {
  // The first of its kind has nothing before it; its shared bytes are never used, their header may say anything.
  return message.previousTimestamp < 0 ? 0 : message.timestamp - message.previousTimestamp
}

function outgoing(message: MediaMessage): OutgoingMessage {
  return { type: MESSAGE_TYPE[message.kind], chunkStreamId: CHUNK_STREAM[message.kind], payload: message.payload }
}
