import { MESSAGE_TYPE } from '../rtmp/chunk-writer.ts'
import type { MediaKind, MediaMessage } from '../types.ts'

/** The FLV file header, version 1, with flags for audio and video (FLV specification, E.2), and PreviousTagSize0. */
export function flvHeader(has: { readonly audio: boolean; readonly video: boolean }): Buffer {
  return Buffer.from([0x46, 0x4c, 0x56, 1, (has.audio ? 4 : 0) | (has.video ? 1 : 0), 0, 0, 0, 9, 0, 0, 0, 0])
}

const TAG_HEADER = 11
/**
 * Publishers put the command `@setDataFrame` before onMetaData, so that the server stores it. FLV files do not contain the
 * command.
 */
const SET_DATA_FRAME = Buffer.from('\u0002\u0000\u000d@setDataFrame', 'latin1')

/** Encodes a message as an FLV tag (E.4.1), followed by its PreviousTagSize. @param timestamp milliseconds, from 0 */
export function flvTag({ kind, payload }: Pick<MediaMessage, 'kind' | 'payload'>, timestamp: number): Buffer {
  const body = kind === 'data' ? withoutDataFrame(payload) : payload
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

/** Which kinds of media the messages contain. If they contain neither audio nor video, both are assumed. */
export function kindsOf(messages: readonly { readonly kind: MediaKind }[]): { audio: boolean; video: boolean } {
  const audio = messages.some(({ kind }) => kind === 'audio')
  const video = messages.some(({ kind }) => kind === 'video')
  return audio || video ? { audio, video } : { audio: true, video: true }
}

/** Adds the command `@setDataFrame` to the body of a script tag, as publishers send it. */
export function withDataFrame(body: Buffer): Buffer {
  return Buffer.concat([SET_DATA_FRAME, body])
}

function withoutDataFrame(payload: Buffer): Buffer {
  const hasCommand = payload.subarray(0, SET_DATA_FRAME.length).equals(SET_DATA_FRAME)
  return hasCommand ? payload.subarray(SET_DATA_FRAME.length) : payload
}
