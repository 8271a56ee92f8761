import { AUDIO_HEADER_BYTES, audioFormatOf, audioSequenceHeader, silentFrame } from '../playout/flv-bodies.ts'
import type { MediaMessage } from '../types.ts'
import type { SlateClip } from './clip.ts'

/** Samples per AAC frame. */
const FRAME_SAMPLES = 1_024
/** AudioSpecificConfig of AAC-LC, 48 kHz, stereo. Used when no silent frame is known for the publisher's format. */
const STEREO = Buffer.from('1190', 'hex')

interface SilentAudio {
  readonly configuration: MediaMessage
  readonly frame: Buffer
  readonly frameMs: number
}

/** Plays a clip in a loop with silence, as messages of a publisher. Its timestamps start at 0. */
export class SlateLoop {
  readonly #clip: SlateClip
  readonly #metadata: readonly MediaMessage[]
  readonly #audio: SilentAudio | null
  #videoFrames = 0
  #audioFrames = 0

  /**
   * @param headers the publisher's headers. Its metadata is sent unchanged. Its audio configuration is used if a silent
   *   frame is known for it.
   */
  constructor(clip: SlateClip, headers: readonly MediaMessage[]) {
    this.#clip = clip
    this.#metadata = headers.filter(({ kind }) => kind === 'data')
    const audio = headers.find(({ kind }) => kind === 'audio')
    this.#audio = audio === undefined ? null : silentAudioLike(audio)
  }

  /** Metadata and decoder configurations, to be sent first. */
  headers(): readonly MediaMessage[] {
    const video = this.#message('video', 0, this.#clip.configuration, { isSequenceHeader: true })
    return [...this.#metadata, video, ...(this.#audio === null ? [] : [this.#audio.configuration])]
  }

  /** Frames due by `untilMs` since the start that were not returned before, ordered by timestamp. */
  due(untilMs: number): readonly MediaMessage[] {
    const { fps, frames } = this.#clip
    const messages: MediaMessage[] = []
    for (; (this.#videoFrames * 1_000) / fps <= untilMs; this.#videoFrames += 1) {
      const index = this.#videoFrames % frames.length
      const timestamp = Math.round((this.#videoFrames * 1_000) / fps)
      messages.push(this.#message('video', timestamp, frames[index]!, { isKeyframe: index === 0 }))
    }
    if (this.#audio === null) return messages
    const { frame, frameMs } = this.#audio
    for (; this.#audioFrames * frameMs <= untilMs; this.#audioFrames += 1) {
      messages.push(this.#message('audio', Math.round(this.#audioFrames * frameMs), frame))
    }
    return messages.toSorted((left, right) => left.timestamp - right.timestamp)
  }

  #message(
    kind: MediaMessage['kind'],
    timestamp: number,
    payload: Buffer,
    { isSequenceHeader = false, isKeyframe = false } = {},
  ): MediaMessage {
    return { kind, timestamp, payload, isSequenceHeader, isKeyframe, isSlate: true }
  }
}

function silentAudioLike(header: MediaMessage): SilentAudio {
  const config = header.payload.subarray(AUDIO_HEADER_BYTES)
  const matching = silentFrame(config)
  const frame = matching ?? silentFrame(STEREO)!
  const configuration =
    matching === undefined ? { ...header, payload: audioSequenceHeader(STEREO), isSlate: true as const } : header
  const { audiosamplerate } = audioFormatOf(matching === undefined ? STEREO : config)
  return { configuration, frame, frameMs: (FRAME_SAMPLES * 1_000) / audiosamplerate }
}
