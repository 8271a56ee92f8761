import type { MediaLog } from '../types.ts'
import type { SlateFormat } from './arguments.ts'
import { renderSlate, type SlateClip } from './clip.ts'

/** A clip takes tens of kilobytes, or half a megabyte for a detailed picture. */
const MAX_CACHED_CLIPS = 32

/**
 * Renders slates for all streams of a node, one at a time, and caches the clips. Streams with the same format and picture
 * share a clip.
 */
export class SlateRenderer {
  readonly #ffmpeg: string | undefined
  readonly #log: MediaLog
  /** In order of last use, the most recent last. */
  readonly #clips = new Map<string, Promise<SlateClip>>()
  readonly #closing = new AbortController()
  #queue: Promise<unknown> = Promise.resolve()

  /** @param ffmpeg path of ffmpeg; undefined if the node has none */
  constructor(ffmpeg: string | undefined, log: MediaLog) {
    this.#ffmpeg = ffmpeg
    this.#log = log
  }

  get hasFfmpeg(): boolean {
    return this.#ffmpeg !== undefined
  }

  /**
   * Returns a clip of a picture. If `picture` is undefined or cannot be rendered, returns a clip of the card.
   * @throws Error with the reason if no clip can be rendered
   */
  async clip(format: SlateFormat, picture: string | undefined): Promise<SlateClip> {
    if (picture !== undefined) {
      try {
        return await this.#clip(format, picture)
      } catch (error) {
        this.#log.warn({ error }, 'the picture of a slate cannot be rendered; the card is shown')
      }
    }
    return this.#clip(format, undefined)
  }

  close(): void {
    this.#closing.abort()
  }

  #clip(format: SlateFormat, picture: string | undefined): Promise<SlateClip> {
    const key = JSON.stringify([format.width, format.height, format.fps, format.profile, picture])
    const clip = this.#clips.get(key) ?? this.#enqueue(format, picture)
    this.#clips.delete(key)
    this.#clips.set(key, clip)
    // A failure is not cached: the next request renders again.
    clip.catch(() => this.#clips.delete(key))
    const [oldest] = this.#clips.keys()
    if (this.#clips.size > MAX_CACHED_CLIPS && oldest !== undefined) this.#clips.delete(oldest)
    return clip
  }

  #enqueue(format: SlateFormat, picture: string | undefined): Promise<SlateClip> {
    const ffmpeg = this.#ffmpeg
    if (ffmpeg === undefined) return Promise.reject(new Error('ffmpeg is missing on this node'))
    const clip = this.#queue.then(() => renderSlate(ffmpeg, format, picture, this.#closing.signal))
    this.#queue = clip.catch(() => {})
    return clip
  }
}
