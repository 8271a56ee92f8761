/** The reason of a failure. The message explains it to users, and contains no path. */
export type MediaWorkErrorCode =
  /** The type of the file is not supported, or not for this operation. */
  | 'unsupported'
  /** The settings are out of bounds or contradict each other. */
  | 'invalid_settings'
  /** There is no file at the path. */
  | 'missing'
  /** The file ends before its media does. */
  | 'truncated'
  /** The content does not match its header. */
  | 'damaged'
  /** More pixels, bytes or seconds than the limits or the platform allow. Checked before decoding. */
  | 'too_large'
  /** It took longer than the limits allow. */
  | 'timed_out'
  /** It took more memory than the limits allow. */
  | 'memory_limit'
  /** The output exceeded the limit. */
  | 'output_too_large'
  /** The caller's signal was aborted. */
  | 'cancelled'
  /** The process died twice while it processed this file, the second time without other jobs. */
  | 'hostile'
  /** The process died and no other one could be started. */
  | 'worker_died'
  /** The queue is full. */
  | 'busy'
  /** There is no ffmpeg, the disk is full, or media work is closed. */
  | 'unavailable'
  /** ffmpeg failed for an unknown reason. */
  | 'failed'

/** `timed_out` is not retryable, because the file would take as long again. */
const RETRYABLE: ReadonlySet<MediaWorkErrorCode> = new Set(['busy', 'unavailable', 'worker_died'])

/** A failure of media work. */
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
