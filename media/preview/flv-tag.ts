import { MESSAGE_TYPE } from '../rtmp/chunk-writer.ts'
import type { MediaKind, MediaMessage } from '../types.ts'

/** "FLV", version 1, the flags of what comes (FLV specification, E.2), then the size of the tag before the first. */
export function flvHeader(has: { readonly audio: boolean; readonly video: boolean }): Buffer {
  return Buffer.from([0x46, 0x4c, 0x56, 1, (has.audio ? 4 : 0) | (has.video ? 1 : 0), 0, 0, 0, 9, 0, 0, 0, 0])
}

const TAG_HEADER = 11
/** `@setDataFrame` tells a server to keep what follows; in a file only what follows makes sense. */
const SET_DATA_FRAME = Buffer.from('\u0002\u0000\u000d@setDataFrame', 'latin1')

/** A message as a tag (E.4.1) with the size that follows it. @param timestamp milliseconds from 0 */
export function flvTag({ kind, payload }: Pick<MediaMessage, 'kind' | 'payload'>, timestamp: number): Buffer {
  const body = kind === 'data' ? withoutCommand(payload) : payload
  const tag = Buffer.allocUnsafe(TAG_HEADER + body.length + 4)
  tag.writeUInt8(MESSAGE_TYPE[kind], 0)
  tag.writeUIntBE(body.length, 1, 3)
  const time = timestamp % 0x1_0000_0000
  tag.writeUIntBE(time % 0x100_0000, 4, 3)
  tag.writeUInt8(Math.floor(time / 0x100_0000), 7)
  tag.writeUIntBE(0, 8, 3)
  body.copy(tag, TAG_HEADER)
  tag.writeUInt32BE(TAG_HEADER + body.length, TAG_HEADER + body.length)
  return tag
}

/** What kinds of media these messages have; both where there is none to judge by. */
export function kindsOf(messages: readonly { readonly kind: MediaKind }[]): { audio: boolean; video: boolean } {
  const audio = messages.some(({ kind }) => kind === 'audio')
  const video = messages.some(({ kind }) => kind === 'video')
  return audio || video ? { audio, video } : { audio: true, video: true }
}

/** A script tag's body as a publisher sends it. */
export function withDataFrame(body: Buffer): Buffer {
  return Buffer.concat([SET_DATA_FRAME, body])
}

function withoutCommand(payload: Buffer): Buffer {
  const begins = payload.subarray(0, SET_DATA_FRAME.length).equals(SET_DATA_FRAME)
  return begins ? payload.subarray(SET_DATA_FRAME.length) : payload
}
