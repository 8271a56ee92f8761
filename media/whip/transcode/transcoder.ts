import type { FlvTag } from '../../rtmp/flv-reader.ts'
import type { MediaLog } from '../../types.ts'
import { FfmpegProcess } from './ffmpeg-process.ts'
import type { CodedTrack } from './matroska.ts'

export interface TranscoderOptions {
  /** Path of ffmpeg. */
  readonly path: string
  readonly args: readonly string[]
  /** Returns the codec of the next frames. */
  readonly track: () => CodedTrack
  /** Called with each FLV tag of the output, in session time. */
  readonly onTag: (tag: FlvTag) => void
  /** ffmpeg has failed too often and is not restarted. */
  readonly onFailure: (reason: string) => void
  readonly log: MediaLog
  /** For log lines. */
  readonly sessionId: string
}

/** After this many failures within this time, ffmpeg is not restarted. */
const MAX_FAILURES = { count: 5, withinMs: 60_000 } as const

/**
 * Transcodes a track to a codec for RTMP. ffmpeg is started with the first keyframe. If it ends or hangs, it is restarted with
 * the next keyframe, and the session and its other track continue.
 */
export class Transcoder {
  readonly #options: TranscoderOptions
  #process: FfmpegProcess | null = null
  /** Monotonic times of recent failures. */
  #failures: number[] = []
  #hasEnded = false

  constructor(options: TranscoderOptions) {
    this.#options = options
  }

  /** Writes a frame. @param timestamp session time, milliseconds */
  write(timestamp: number, isKeyframe: boolean, data: Buffer): void {
    if (this.#hasEnded) return
    if (this.#process === null && isKeyframe) this.#process = this.#start(timestamp)
    this.#process?.write(timestamp, isKeyframe, data)
  }

  /** Ends ffmpeg after its remaining output. */
  async finish(): Promise<void> {
    this.#hasEnded = true
    await this.#process?.finish()
  }

  /** Kills ffmpeg and discards its remaining output. */
  kill(): void {
    this.#hasEnded = true
    this.#process?.kill()
  }

  #start(origin: number): FfmpegProcess {
    const { args, onTag, path, track } = this.#options
    return new FfmpegProcess({
      path,
      args,
      track: track(),
      origin,
      onTag,
      onFailure: (reason, stderr) => this.#onFailure(reason, stderr),
    })
  }

  #onFailure(reason: string, stderr: readonly string[]): void {
    const { log, onFailure, sessionId } = this.#options
    this.#process = null
    if (this.#hasEnded) return
    const now = performance.now()
    this.#failures = [...this.#failures.filter((at) => now - at < MAX_FAILURES.withinMs), now]
    if (this.#failures.length < MAX_FAILURES.count) {
      log.warn({ sessionId, reason, stderr }, 'the ffmpeg of a whip session failed and is restarted')
      return
    }
    log.warn({ sessionId, reason, stderr }, 'the ffmpeg of a whip session failed too often')
    this.#hasEnded = true
    onFailure(reason)
  }
}
