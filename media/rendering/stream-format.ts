import type { RelayMessage } from '../relay/relay-message.ts'
import { classify, VIDEO } from '../rtmp/flv.ts'

/** What an encoder of renderings has to be started for: it is kept running as long as the stream comes in this form. */
export interface StreamForm {
  /** Codec and configuration of the pictures; null before their configuration came. */
  readonly video: { readonly codec: string; readonly configuration: Buffer } | null
  /** Configuration of the sound, which is copied; null before it came. */
  readonly audio: Buffer | null
}

export const UNKNOWN_FORM: StreamForm = { video: null, audio: null }

/** The form after these messages, of which only configurations count. A slate is made to fit the form of its publisher. */
export function formAfter(form: StreamForm, messages: readonly RelayMessage[]): StreamForm {
  let { audio, video } = form
  for (const { isHeader, isSlate, kind, payload } of messages) {
    if (!isHeader || isSlate || kind === 'data') continue
    if (kind === 'audio') audio = payload
    else video = { codec: classify(VIDEO, payload).codec ?? 'an unknown codec', configuration: payload }
  }
  return { video, audio }
}

/** Whether an encoder that was started for one form can go on with the other. Decoders lose pictures at a new configuration. */
export function isSameForm(one: StreamForm, other: StreamForm): boolean {
  return isSame(one.video?.configuration, other.video?.configuration) && isSame(one.audio, other.audio)
}

function isSame(one: Buffer | null | undefined, other: Buffer | null | undefined): boolean {
  return one == null || other == null ? one === other : one.equals(other)
}

/**
 * Why ffmpeg cannot read a stream of this form; null when it can. Its FLV reader knows H.264, and from 6.1 on the codecs of
 * Enhanced RTMP (its change log).
 */
export function unreadable({ video }: StreamForm, version: string): string | null {
  if (video === null || video.codec === 'h264') return null
  const [, major = '0', minor = '0'] = /^n?(\d+)\.(\d+)/.exec(version) ?? []
  const knowsEnhanced = Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 1) || version.startsWith('N-')
  if (knowsEnhanced) return null
  return `The stream comes in as ${video.codec}, which ffmpeg ${version} of this node cannot read. Send H.264, or install ffmpeg 6.1 or newer.`
}
