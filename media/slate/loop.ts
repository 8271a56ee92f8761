import { AUDIO_HEADER_BYTES, audioFormatOf, audioSequenceHeader, silentFrame } from '../playout/flv-bodies.ts'
import type { MediaMessage } from '../types.ts'
import type { SlateClip } from './clip.ts'

/** Samples of one AAC frame. */
const FRAME_SAMPLES = 1_024
/** AudioSpecificConfig of AAC-LC, 48 kHz, stereo: where nobody knows how silence is written in the publisher's. */
const STEREO = Buffer.from('1190', 'hex')

interface Sound {
  readonly configuration: MediaMessage
  readonly frame: Buffer
  readonly stepMs: number
}

/** A clip played over and over with silence, as a publisher would send it: on a clock of its own, from 0. */
export class SlateLoop {
  readonly #clip: SlateClip
  readonly #others: readonly MediaMessage[]
  readonly #sound: Sound | null
  #pictures = 0
  #frames = 0

  /**
   * @param headers of the publisher that it stands in for: its metadata holds, and its sound's configuration where
   *   silence can be written in it
   */
  constructor(clip: SlateClip, headers: readonly MediaMessage[]) {
    this.#clip = clip
    this.#others = headers.filter(({ kind }) => kind === 'data')
    const audio = headers.find(({ kind }) => kind === 'audio')
    this.#sound = audio === undefined ? null : soundLike(audio)
  }

  /** Configurations, to be sent before anything else. */
  headers(): readonly MediaMessage[] {
    const video = this.#message('video', 0, this.#clip.configuration, { isHeader: true })
    return [...this.#others, video, ...(this.#sound === null ? [] : [this.#sound.configuration])]
  }

  /** What is due until a time since the beginning that was not given out before, in order. */
  due(untilMs: number): readonly MediaMessage[] {
    const { fps, pictures } = this.#clip
    const messages: MediaMessage[] = []
    for (; (this.#pictures * 1_000) / fps <= untilMs; this.#pictures += 1) {
      const at = this.#pictures % pictures.length
      const timestamp = Math.round((this.#pictures * 1_000) / fps)
      messages.push(this.#message('video', timestamp, pictures[at]!, { isKeyframe: at === 0 }))
    }
    if (this.#sound === null) return messages
    const { frame, stepMs } = this.#sound
    for (; this.#frames * stepMs <= untilMs; this.#frames += 1) {
      messages.push(this.#message('audio', Math.round(this.#frames * stepMs), frame))
    }
    return messages.toSorted((left, right) => left.timestamp - right.timestamp)
  }

  #message(
    kind: MediaMessage['kind'],
    timestamp: number,
    payload: Buffer,
    { isHeader = false, isKeyframe = false } = {},
  ): MediaMessage {
    return { kind, timestamp, payload, isHeader, isKeyframe, isSlate: true }
  }
}

function soundLike(header: MediaMessage): Sound {
  const config = header.payload.subarray(AUDIO_HEADER_BYTES)
  const own = silentFrame(config)
  const frame = own ?? silentFrame(STEREO)!
  const configuration =
    own === undefined ? { ...header, payload: audioSequenceHeader(STEREO), isSlate: true as const } : header
  const { audiosamplerate } = audioFormatOf(own === undefined ? STEREO : config)
  return { configuration, frame, stepMs: (FRAME_SAMPLES * 1_000) / audiosamplerate }
}
