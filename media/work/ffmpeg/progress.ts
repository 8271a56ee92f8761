import type { Progress } from '../types.ts'

const LINE =
  /^(frame|fps|stream_\w+|bitrate|total_size|out_time_us|out_time_ms|out_time|dup_frames|drop_frames|speed|progress)=\s*(\S*)\s*$/

/** Parses the output of `-progress`: sets of `name=value` lines, each ended by a `progress=` line. */
export class ProgressReader {
  readonly #seconds: number
  readonly #values = new Map<string, string>()
  #ended = false
  #done = 0

  /** @param seconds duration of the output; 0 if unknown */
  constructor(seconds: number) {
    this.#seconds = seconds
  }

  /** Reads a line. @returns whether it belongs to the progress */
  read(line: string): boolean {
    const [, name, value] = LINE.exec(line) ?? []
    if (name === undefined || value === undefined) return false
    this.#ended = name === 'progress'
    this.#values.set(name, value)
    return true
  }

  /** The progress, once after each complete set; otherwise null. */
  progress(): Progress | null {
    if (!this.#ended || this.#seconds <= 0) return null
    this.#ended = false
    const last = this.#values.get('progress') === 'end'
    // The time is N/A before the first frame, and negative for frames before zero.
    const seconds = Math.max(0, this.#number('out_time_us') / 1e6)
    this.#done = last ? 1 : Math.min(1, Math.max(this.#done, seconds / this.#seconds))
    const speed = this.#number('speed')
    const fps = this.#number('fps')
    return {
      fraction: this.#done,
      fps: fps > 0 ? fps : null,
      etaSeconds: last ? 0 : speed > 0 ? Math.max(0, this.#seconds - seconds) / speed : null,
    }
  }

  #number(name: string): number {
    const value = Number.parseFloat(this.#values.get(name) ?? '')
    return Number.isFinite(value) ? value : 0
  }
}
