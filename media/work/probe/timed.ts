import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { ffmpegInfo } from './ffmpeg-info.ts'
import { ffprobe, lastPacketSeconds } from './ffprobe.ts'
import type { FileKind } from './file-kind.ts'
import type { SourceFile } from './source-file.ts'
import type { Streams } from './streams.ts'
import { isTruncated } from './truncation.ts'

/** The tracks of a video or audio file. A result of `probe` includes them. */
export interface TimedMedia extends Omit<Streams, 'format'> {
  readonly truncated: boolean
}

/** Containers whose header has the duration, but not the size. */
const TAIL_FORMATS = /matroska|webm|avi|flv|ogg|flac/
/** Seconds at the end of the file that are searched for its last packet. `slack` is how many of them may be missing. */
const TAIL_SECONDS = 10
const slack = (seconds: number) => Math.min(2, 0.25 + seconds / 20)

/** @throws MediaWorkError */
export async function probeTimed(path: string, kind: FileKind, context: WorkContext): Promise<TimedMedia> {
  const { ffmpeg, signal } = context
  // Without its index at the end, a file cannot be probed. Its boxes show whether it is truncated or damaged.
  const truncated = await isTruncated(path, kind.bytes)
  let streams: Streams
  try {
    streams =
      ffmpeg.probePath === undefined
        ? await ffmpegInfo(ffmpeg.path, path, signal)
        : await ffprobe(ffmpeg.probePath, path, signal)
  } catch (error) {
    if (truncated && error instanceof MediaWorkError && (error.code === 'damaged' || error.code === 'failed')) {
      throw new MediaWorkError('truncated', 'The file ends before its media does.', { cause: error })
    }
    throw error
  }
  if (streams.video === null && streams.audio === null) {
    throw new MediaWorkError('unsupported', 'The file has neither video nor audio.')
  }
  return { ...streams, truncated: truncated || (await isTailMissing(path, streams, context)) }
}

async function isTailMissing(path: string, { format, seconds }: Streams, context: WorkContext): Promise<boolean> {
  const { probePath } = context.ffmpeg
  if (probePath === undefined || seconds === null || seconds === 0 || !TAIL_FORMATS.test(format)) return false
  try {
    const last = await lastPacketSeconds(probePath, path, Math.max(0, seconds - TAIL_SECONDS), context.signal)
    return last === null || last < seconds - slack(seconds)
  } catch (error) {
    // The end of the file cannot be read.
    if (error instanceof MediaWorkError && (error.code === 'damaged' || error.code === 'truncated')) return true
    throw error
  }
}

/**
 * Probes a file for thumbnails and transcodes, and checks it against the limits. Uses the result of an earlier probe.
 * @throws MediaWorkError `truncated`, `too_large`
 */
export async function probeWorkable({ path, kind, probed }: SourceFile, context: WorkContext): Promise<TimedMedia> {
  const media = probed ?? (await probeTimed(path, kind, context))
  const { limits } = context
  if (media.truncated) throw new MediaWorkError('truncated', 'The file ends before its media does.')
  if (media.video !== null && media.video.width * media.video.height > limits.videoPixels) {
    const { width, height } = media.video
    throw new MediaWorkError('too_large', `The video has ${width} × ${height} pixels, which is too many.`)
  }
  if ((media.seconds ?? 0) > limits.seconds) {
    throw new MediaWorkError('too_large', `The file is longer than ${limits.seconds} s.`)
  }
  return media
}
