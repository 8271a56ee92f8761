import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { ffmpegInfo } from './ffmpeg-info.ts'
import { ffprobe, lastPacketSeconds } from './ffprobe.ts'
import type { FileKind } from './file-kind.ts'
import type { SourceFile } from './source-file.ts'
import type { Streams } from './streams.ts'
import { endsEarly } from './truncation.ts'

/** What is known of a video or of sound. A result of `probe` has it all. */
export interface TimedMedia extends Omit<Streams, 'format'> {
  readonly truncated: boolean
}

/** Containers whose head says how long they are, and that do not say how large. */
const TAIL_CHECKED = /matroska|webm|avi|flv|ogg|flac/
/** How much of the time at the end is looked for a packet, and how much may be missing. */
const TAIL_SECONDS = 10
const slack = (seconds: number) => Math.min(2, 0.25 + seconds / 20)

/** @throws MediaWorkError */
export async function probeTimed(path: string, kind: FileKind, context: WorkContext): Promise<TimedMedia> {
  const { ffmpeg, signal } = context
  // An index at the end that is missing leaves nothing to probe: the file itself tells it apart from a damaged one.
  const early = await endsEarly(path, kind.bytes)
  let streams: Streams
  try {
    streams =
      ffmpeg.probePath === undefined
        ? await ffmpegInfo(ffmpeg.path, path, signal)
        : await ffprobe(ffmpeg.probePath, path, signal)
  } catch (error) {
    if (early && error instanceof MediaWorkError && (error.code === 'damaged' || error.code === 'failed')) {
      throw new MediaWorkError('truncated', 'The file ends before its media does.', { cause: error })
    }
    throw error
  }
  if (streams.video === null && streams.audio === null) {
    throw new MediaWorkError('unsupported', 'There is neither a picture nor sound in it.')
  }
  return { ...streams, truncated: early || (await lacksItsEnd(path, streams, context)) }
}

async function lacksItsEnd(path: string, { format, seconds }: Streams, context: WorkContext): Promise<boolean> {
  const { probePath } = context.ffmpeg
  if (probePath === undefined || seconds === null || seconds === 0 || !TAIL_CHECKED.test(format)) return false
  try {
    const last = await lastPacketSeconds(probePath, path, Math.max(0, seconds - TAIL_SECONDS), context.signal)
    return last === null || last < seconds - slack(seconds)
  } catch (error) {
    // Nothing can be read where the end should be.
    if (error instanceof MediaWorkError && (error.code === 'damaged' || error.code === 'truncated')) return true
    throw error
  }
}

/**
 * What thumbnails and transcodes need beyond a probe; a file that was probed before is not asked again.
 * @throws MediaWorkError `truncated`, `too_large`
 */
export async function probeWorkable({ path, kind, probed }: SourceFile, context: WorkContext): Promise<TimedMedia> {
  const media = probed ?? (await probeTimed(path, kind, context))
  const { limits } = context
  if (media.truncated) throw new MediaWorkError('truncated', 'The file ends before its media does.')
  if (media.video !== null && media.video.width * media.video.height > limits.videoPixels) {
    const { width, height } = media.video
    throw new MediaWorkError('too_large', `Its frames have ${width} × ${height} pixels, too many.`)
  }
  if ((media.seconds ?? 0) > limits.seconds) {
    throw new MediaWorkError('too_large', `It is longer than ${limits.seconds} s.`)
  }
  return media
}
