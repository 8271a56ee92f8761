import { PlayoutError } from './errors.ts'
import type { MovieReader } from './movie-reader.ts'
import { silence, soundOf } from './payloads.ts'
import { AUDIO, VIDEO } from '../rtmp/flv.ts'

/** How often the picture is sent again. */
const PICTURE_MS = 500
/** Samples of one AAC frame. */
const FRAME_SAMPLES = 1_024

/** One picture again and again, with silence. */
export class StillPicture {
  /** From one step to the next. */
  readonly stepMs: number
  readonly #picture: Buffer
  readonly #silence: Buffer | undefined
  #pictureDue = Number.NEGATIVE_INFINITY

  private constructor(picture: Buffer, quiet: Buffer | undefined, stepMs: number) {
    this.#picture = picture
    this.#silence = quiet
    this.stepMs = stepMs
  }

  /** The keyframe that the reader is at. @throws PlayoutError when there is none */
  static async of(movie: MovieReader): Promise<StillPicture> {
    for (;;) {
      const frame = await movie.next()
      if (frame === undefined) throw new PlayoutError('The file has no picture.')
      if (!frame.isKeyframe) continue
      // Shown at once, wherever it stood in the order of pictures.
      frame.payload.fill(0, 2, 5)
      const config = movie.movie.audio?.config ?? Buffer.alloc(0)
      const quiet = silence(config)
      const stepMs = quiet === undefined ? PICTURE_MS : (FRAME_SAMPLES * 1_000) / soundOf(config).audiosamplerate
      return new StillPicture(frame.payload, quiet, stepMs)
    }
  }

  /** What is to be sent at a place of the line. */
  frames(line: number): { type: typeof AUDIO | typeof VIDEO; payload: Buffer }[] {
    const isDue = line >= this.#pictureDue
    if (isDue) this.#pictureDue = line + PICTURE_MS
    return [
      ...(isDue ? [{ type: VIDEO, payload: this.#picture } as const] : []),
      ...(this.#silence === undefined ? [] : [{ type: AUDIO, payload: this.#silence } as const]),
    ]
  }
}
