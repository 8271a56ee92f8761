import { availableParallelism } from 'node:os'

/** The limits of media work. Time limits allow for a machine whose processors are busy with other work. */
export interface MediaWorkLimits {
  /** Maximum number of concurrent probes and thumbnail jobs. */
  readonly quickConcurrency: number
  /** Maximum number of queued probes and thumbnail jobs. More are refused as `busy`. */
  readonly quickQueue: number
  /** Maximum number of concurrent transcodes and previews. */
  readonly longConcurrency: number
  /** Maximum number of queued transcodes and previews. */
  readonly longQueue: number
  /** Time limit of a probe or of the thumbnails of a file, in seconds. */
  readonly quickSeconds: number
  /** CPU time limit for measuring or rendering an SVG, in whole seconds. Starting the process takes 0.1 s of it. */
  readonly svgSeconds: number
  /** Time limit of a transcode or a preview, in seconds. */
  readonly longSeconds: number
  /** Maximum pixels of an image, per frame. 30,000 × 30,000 is nine times the default. */
  readonly imagePixels: number
  /** Maximum bytes of an image or document, which is read into memory. */
  readonly imageBytes: number
  /** Maximum pixels of a video frame. */
  readonly videoPixels: number
  /** Maximum duration of video or audio, in seconds. */
  readonly seconds: number
  /** Maximum bytes of the output of a transcode, or of all segments of a preview. */
  readonly outputBytes: number
  /** Maximum resident memory of a work process, without ffmpeg. */
  readonly processBytes: number
  /** Maximum resident memory of one ffmpeg. */
  readonly ffmpegBytes: number
  /** Threads of one ffmpeg. */
  readonly ffmpegThreads: number
  /** Seconds after which an idle work process ends. The next job starts another one. */
  readonly idleSeconds: number
}

const GIB = 2 ** 30
const cores = availableParallelism()

export const DEFAULT_LIMITS: MediaWorkLimits = {
  // One more than there are processors, so that none is idle while a job waits for the disk or its next step.
  quickConcurrency: cores + 1,
  quickQueue: 1_000,
  // At least two, so that the long job of one workspace does not block the others.
  longConcurrency: Math.max(2, Math.floor(cores / 4)),
  longQueue: 100,
  quickSeconds: 180,
  svgSeconds: 1,
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
