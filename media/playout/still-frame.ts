import { PlayoutError } from './errors.ts'
import type { MovieReader } from './movie-reader.ts'
import { audioFormatOf, silentFrame } from './flv-bodies.ts'
import { AUDIO, VIDEO } from '../rtmp/flv.ts'

/** How often the keyframe is repeated. */
const REPEAT_MS = 500
/** Samples per AAC frame. */
const FRAME_SAMPLES = 1_024

/** Repeats one keyframe, with silence. */
export class StillFrame {
  /** Time between two calls of {@link frames}, milliseconds. */
  readonly stepMs: number
  readonly #keyframe: Buffer
  readonly #silence: Buffer | undefined
  #keyframeDue = Number.NEGATIVE_INFINITY

  private constructor(keyframe: Buffer, silent: Buffer | undefined, stepMs: number) {
    this.#keyframe = keyframe
    this.#silence = silent
    this.stepMs = stepMs
  }

  /** Takes the next keyframe of the reader. @throws PlayoutError when there is none */
  static async of(movie: MovieReader): Promise<StillFrame> {
    for (;;) {
      const frame = await movie.next()
      if (frame === undefined) throw new PlayoutError('The file has no keyframe.')
      if (!frame.isKeyframe) continue
      // A composition time offset of 0 shows it immediately.
      frame.payload.fill(0, 2, 5)
      const config = movie.movie.audio?.config ?? Buffer.alloc(0)
      const silent = silentFrame(config)
      const stepMs = silent === undefined ? REPEAT_MS : (FRAME_SAMPLES * 1_000) / audioFormatOf(config).audiosamplerate
      return new StillFrame(frame.payload, silent, stepMs)
    }
  }

  /** The frames to send at a timestamp. */
  frames(timestamp: number): { type: typeof AUDIO | typeof VIDEO; payload: Buffer }[] {
    const isDue = timestamp >= this.#keyframeDue
    if (isDue) this.#keyframeDue = timestamp + REPEAT_MS
    return [
      ...(isDue ? [{ type: VIDEO, payload: this.#keyframe } as const] : []),
      ...(this.#silence === undefined ? [] : [{ type: AUDIO, payload: this.#silence } as const]),
    ]
  }
}
