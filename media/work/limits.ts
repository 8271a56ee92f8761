import { availableParallelism } from 'node:os'

/** Every bound of media work. Times leave room for a machine whose processors are wanted by others. */
export interface MediaWorkLimits {
  /** Probes and thumbnails at a time. */
  readonly quickConcurrency: number
  /** Probes and thumbnails that may wait; one more is refused as `busy`. */
  readonly quickQueue: number
  /** Transcodes and previews at a time. */
  readonly longConcurrency: number
  /** Transcodes and previews that may wait. */
  readonly longQueue: number
  /** Hard time for a probe or the thumbnails of a file, in seconds. */
  readonly quickSeconds: number
  /** Time on a processor for reading a drawing, and for drawing it; whole seconds. A tenth goes into starting a process. */
  readonly drawingSeconds: number
  /** Hard time for a transcode or a preview, in seconds. */
  readonly longSeconds: number
  /** Pixels of a picture, all its frames taken singly. 30,000 × 30,000 is nine times this. */
  readonly imagePixels: number
  /** Bytes of a picture, drawing or document that is read into memory. */
  readonly imageBytes: number
  /** Pixels of one frame of a video. */
  readonly videoPixels: number
  /** Length of a video or sound, in seconds. */
  readonly seconds: number
  /** Bytes that a transcode may write; a preview may write as much in all its segments. */
  readonly outputBytes: number
  /** Resident memory of a work process without the ffmpeg in it. */
  readonly processBytes: number
  /** Resident memory of one ffmpeg. */
  readonly ffmpegBytes: number
  /** Threads of one ffmpeg. */
  readonly ffmpegThreads: number
  /** A work process with nothing to do ends after so many seconds; the next job starts another one. */
  readonly idleSeconds: number
}

const GIB = 2 ** 30
const cores = availableParallelism()

export const DEFAULT_LIMITS: MediaWorkLimits = {
  // One more than there are processors: while one job waits for the disk, or for its next step, none of them idles.
  quickConcurrency: cores + 1,
  quickQueue: 1_000,
  // Two at least: where one workspace has a long job, another's does not wait for its end.
  longConcurrency: Math.max(2, Math.floor(cores / 4)),
  longQueue: 100,
  quickSeconds: 180,
  drawingSeconds: 1,
  longSeconds: 6 * 3600,
  imagePixels: 100_000_000,
  imageBytes: 128 * 2 ** 20,
  videoPixels: 8192 * 4352,
  seconds: 12 * 3600,
  outputBytes: 4 * GIB,
  processBytes: 1.5 * GIB,
  ffmpegBytes: 2 * GIB,
  ffmpegThreads: Math.max(1, Math.min(8, cores)),
  idleSeconds: 60,
}
