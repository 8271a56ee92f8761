import type { FlvTag } from '../../rtmp/flv-reader.ts'
import type { MediaLog } from '../../types.ts'
import { FfmpegRun } from './ffmpeg-run.ts'
import type { CodedTrack } from './matroska.ts'

export interface TranscoderOptions {
  /** Of ffmpeg. */
  readonly path: string
  readonly args: readonly string[]
  /** How the frames are coded from here on. */
  readonly track: () => CodedTrack
  /** Tags as they come out, on the session's line. */
  readonly onTag: (tag: FlvTag) => void
  /** It fails again and again: nothing comes out any more. */
  readonly onFailure: (reason: string) => void
  readonly log: MediaLog
  /** For log lines. */
  readonly sessionId: string
}

/** Failures within this time, milliseconds, after which it is not started again. */
const MOST_FAILURES = { count: 5, withinMs: 60_000 } as const

/**
 * Turns a track into what RTMP carries, by an ffmpeg that is started with the first frame, and again with the next
 * keyframe when it ends or hangs. The session and its other track go on meanwhile.
 */
export class Transcoder {
  readonly #options: TranscoderOptions
  #run: FfmpegRun | null = null
  /** Monotonic: when it failed lately. */
  #failures: number[] = []
  #over = false

  constructor(options: TranscoderOptions) {
    this.#options = options
  }

  /** Hands a frame over. @param timestamp milliseconds on the session's line */
  write(timestamp: number, isKeyframe: boolean, data: Buffer): void {
    if (this.#over) return
    if (this.#run === null && isKeyframe) this.#run = this.#start(timestamp)
    this.#run?.write(timestamp, isKeyframe, data)
  }

  /** Lets it hand out what it has, then ends it. */
  async finish(): Promise<void> {
    this.#over = true
    await this.#run?.finish()
  }

  /** Ends it at once; nothing it still says counts. */
  kill(): void {
    this.#over = true
    this.#run?.kill()
  }

  #start(origin: number): FfmpegRun {
    const { args, onTag, path, track } = this.#options
    const run = new FfmpegRun({
      path,
      args,
      track: track(),
      origin,
      onTag,
      onFailure: (reason, said) => this.#onFailure(reason, said),
    })
    return run
  }

  #onFailure(reason: string, said: readonly string[]): void {
    const { log, onFailure, sessionId } = this.#options
    this.#run = null
    if (this.#over) return
    const now = performance.now()
    this.#failures = [...this.#failures.filter((at) => now - at < MOST_FAILURES.withinMs), now]
    if (this.#failures.length < MOST_FAILURES.count) {
      log.warn({ sessionId, reason, said }, 'a track of a whip session is transcoded by another ffmpeg')
      return
    }
    log.warn({ sessionId, reason, said }, 'a whip session cannot be transcoded')
    this.#over = true
    onFailure(reason)
  }
}
