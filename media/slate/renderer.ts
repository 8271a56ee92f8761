import type { MediaLog } from '../types.ts'
import type { SlateForm } from './arguments.ts'
import { renderSlate, type SlateClip } from './clip.ts'

/** Clips that are kept; one takes some tens of kilobytes, of a busy picture half a megabyte. */
const MOST_KEPT = 32

/** Renders slates for all streams of a node, one at a time, and keeps them: most streams look alike. */
export class SlateRenderer {
  readonly #ffmpeg: string | undefined
  readonly #log: MediaLog
  /** The one that was used last is the last. */
  readonly #kept = new Map<string, Promise<SlateClip>>()
  readonly #closing = new AbortController()
  #queue: Promise<unknown> = Promise.resolve()

  /** @param ffmpeg its path; undefined where there is none */
  constructor(ffmpeg: string | undefined, log: MediaLog) {
    this.#ffmpeg = ffmpeg
    this.#log = log
  }

  /** Whether this node can render at all. */
  get isAble(): boolean {
    return this.#ffmpeg !== undefined
  }

  /**
   * A clip of a picture, or of the card where none is named or where it cannot be read.
   * @throws Error that says why there is none
   */
  async clip(form: SlateForm, picture: string | undefined): Promise<SlateClip> {
    if (picture !== undefined) {
      try {
        return await this.#clip(form, picture)
      } catch (error) {
        this.#log.warn({ error }, 'the picture of a slate cannot be rendered; the card is shown')
      }
    }
    return this.#clip(form, undefined)
  }

  close(): void {
    this.#closing.abort()
  }

  #clip(form: SlateForm, picture: string | undefined): Promise<SlateClip> {
    const key = JSON.stringify([form.width, form.height, form.fps, form.profile, picture])
    const clip = this.#kept.get(key) ?? this.#inTurn(form, picture)
    this.#kept.delete(key)
    this.#kept.set(key, clip)
    // Not found wanting for ever: the next who asks has it tried again.
    clip.catch(() => this.#kept.delete(key))
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return clip
  }

  #inTurn(form: SlateForm, picture: string | undefined): Promise<SlateClip> {
    const ffmpeg = this.#ffmpeg
    if (ffmpeg === undefined) return Promise.reject(new Error('ffmpeg is missing on this node'))
    const clip = this.#queue.then(() => renderSlate(ffmpeg, form, picture, this.#closing.signal))
    this.#queue = clip.catch(() => {})
    return clip
  }
}
