import type { RelayMessage } from '../relay/relay-message.ts'
import { classify, VIDEO } from '../rtmp/flv.ts'

/** The parts of a stream’s format that an encoder of renderings depends on. Another format needs a new encoder. */
export interface StreamFormat {
  /** Codec and decoder configuration of the video. Null before the configuration arrives. */
  readonly video: { readonly codec: string; readonly configuration: Buffer } | null
  /** Decoder configuration of the audio, which is copied. Null before it arrives. */
  readonly audio: Buffer | null
}

export const UNKNOWN_FORMAT: StreamFormat = { video: null, audio: null }

/** Updates a format with the configurations in `messages`. The slate is left out, because it has the publisher's format. */
export function formatAfter(format: StreamFormat, messages: readonly RelayMessage[]): StreamFormat {
  let { audio, video } = format
  for (const { isSequenceHeader, isSlate, kind, payload } of messages) {
    if (!isSequenceHeader || isSlate || kind === 'data') continue
    if (kind === 'audio') audio = payload
    else video = { codec: classify(VIDEO, payload).codec ?? 'an unknown codec', configuration: payload }
  }
  return { video, audio }
}

/** Whether one encoder can handle both formats. At a new configuration a decoder loses frames, so it needs a new encoder. */
export function isSameFormat(one: StreamFormat, other: StreamFormat): boolean {
  return isSame(one.video?.configuration, other.video?.configuration) && isSame(one.audio, other.audio)
}

function isSame(one: Buffer | null | undefined, other: Buffer | null | undefined): boolean {
  return one == null || other == null ? one === other : one.equals(other)
}

/**
 * Why ffmpeg cannot read a stream of this format. Null when it can. Its FLV demuxer supports H.264, and since version 6.1
 * the codecs of Enhanced RTMP (ffmpeg's change log).
 */
export function unsupportedReason({ video }: StreamFormat, version: string): string | null {
  if (video === null || video.codec === 'h264') return null
  const [, major = '0', minor = '0'] = /^n?(\d+)\.(\d+)/.exec(version) ?? []
  const supportsEnhanced = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 1) || version.startsWith('N-')
  if (supportsEnhanced) return null
  return `The publisher sends ${video.codec}, which ffmpeg ${version} on this node cannot read. Send H.264, or install ffmpeg 6.1 or later.`
}
