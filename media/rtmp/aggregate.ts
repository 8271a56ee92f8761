import type { RtmpMessage } from './chunk-reader.ts'
import { RtmpProtocolError } from './errors.ts'

export const AGGREGATE = 22

/**
 * Splits an aggregate message (RTMP 1.0, section 7.1.6) into its sub-messages. The first one gets the timestamp of the
 * aggregate; the others keep their distance to it.
 *
 * @throws RtmpProtocolError when a sub-message reaches past the end.
 */
export function splitAggregate(aggregate: RtmpMessage): RtmpMessage[] {
  const { payload } = aggregate
  const messages: RtmpMessage[] = []
  let offset = 0
  let shift: number | null = null
  while (offset < payload.length) {
    if (offset + 11 > payload.length) throw new RtmpProtocolError('aggregate message is truncated')
    const length = payload.readUIntBE(offset + 1, 3)
    const timestamp = payload.readUIntBE(offset + 4, 3) + payload[offset + 7]! * 0x100_0000
    shift ??= aggregate.timestamp - timestamp
    const start = offset + 11
    if (start + length > payload.length) throw new RtmpProtocolError('aggregate message is truncated')
    messages.push({
      type: payload[offset]!,
      streamId: aggregate.streamId,
      chunkStreamId: aggregate.chunkStreamId,
      timestamp: (timestamp + shift) >>> 0,
      payload: payload.subarray(start, start + length),
    })
    // A back pointer of four bytes follows each sub-message. It may be absent after the last one.
    offset = start + length + 4
  }
  return messages
}
