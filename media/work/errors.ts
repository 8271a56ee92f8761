/** What went wrong, for programs. The message says it for people; it names no path. */
export type MediaWorkErrorCode =
  /** Not a kind of file that this can work on, or not in the way asked for. */
  | 'unsupported'
  /** The settings asked for are out of bounds or contradict each other. */
  | 'invalid_settings'
  /** There is no file at the path. */
  | 'missing'
  /** The file ends before its media does. */
  | 'truncated'
  /** The content is not what its first bytes promise. */
  | 'damaged'
  /** More pixels, bytes or seconds than the limits, or the platform, allow. Found before anything is decoded. */
  | 'too_large'
  /** It took longer than the limits allow. */
  | 'timed_out'
  /** It took more memory than the limits allow. */
  | 'memory_limit'
  /** The result grew beyond the limit. */
  | 'output_too_large'
  /** The caller's signal was aborted. */
  | 'cancelled'
  /** The process died twice while it worked on this file, the second time on nothing else. */
  | 'hostile'
  /** The process died and the job could not be given to another one. */
  | 'worker_died'
  /** The queue is full. */
  | 'busy'
  /** No ffmpeg, no place on the disk, or closed. */
  | 'unavailable'
  /** ffmpeg failed without a reason that is known here. */
  | 'failed'

/** A file that took too long does so again: `timed_out` is not among them. */
const RETRYABLE: ReadonlySet<MediaWorkErrorCode> = new Set(['busy', 'unavailable', 'worker_died'])

/** Every failure of media work. */
export class MediaWorkError extends Error {
  override readonly name = 'MediaWorkError'
  readonly code: MediaWorkErrorCode
  /** Whether the same call may succeed later. */
  readonly retryable: boolean

  constructor(code: MediaWorkErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.retryable = RETRYABLE.has(code)
  }
}
