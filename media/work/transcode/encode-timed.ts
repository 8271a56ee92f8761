import { rename, stat } from 'node:fs/promises'
import { MediaWorkError } from '../errors.ts'
import { openMovie } from '../../playout/movie.ts'
import { partPath } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { probeTimed, type TimedMedia } from '../probe/timed.ts'
import type { TranscodeResult } from '../types.ts'
import { clipped } from './fitness.ts'
import { loudnessFilter, measureLoudness } from './loudness.ts'
import type { AudioSpec, VideoSpec } from './spec.ts'

export interface Encoding {
  readonly source: TimedMedia
  readonly spec: VideoSpec | AudioSpec
  /** Given the filters for sound, everything after the input but the output's name. */
  readonly outputOptions: (audioFilter: string | null) => readonly string[]
  readonly hasSound: boolean
  readonly clip: Clip
  readonly maxBytes: number | undefined
  readonly mime: string
}

/** The part of the source that is used. */
export interface Clip {
  readonly from: number
  /** Null when neither the file nor the caller says how long it is. */
  readonly seconds: number | null
  readonly inputOptions: readonly string[]
}

const LOUDNESS = -14
/** How much of the whole the first pass counts for, in the progress. */
const MEASURING = 0.1

/** @throws MediaWorkError `invalid_settings` */
export function clipOf(source: TimedMedia, { trim }: VideoSpec | AudioSpec): Clip {
  const { from, length: seconds } = clipped(trim, source.seconds)
  const start = from > 0 ? ['-ss', from.toFixed(3)] : []
  const length = trim?.to === undefined || seconds === null ? [] : ['-t', seconds.toFixed(3)]
  return { from, seconds, inputOptions: [...start, ...length] }
}

/** Measures the loudness if it is to be changed, encodes beside the output, and puts it in its place. */
export async function encodeTimed(
  path: string,
  output: string,
  { source, spec, outputOptions, hasSound, clip, maxBytes, mime }: Encoding,
  context: WorkContext,
): Promise<TranscodeResult> {
  const { ffmpeg, signal, limits } = context
  const target = spec.loudness === undefined ? LOUDNESS : spec.loudness
  const seconds = clip.seconds ?? source.seconds ?? 0
  const measures = hasSound && target !== null
  const measured = measures
    ? await measureLoudness(
        path,
        {
          inputOptions: clip.inputOptions,
          seconds,
          onProgress: ({ fraction }) =>
            context.progress({ fraction: fraction * MEASURING, fps: null, etaSeconds: null }),
        },
        context,
      )
    : null
  const before = measures ? MEASURING : 0
  const part = partPath(output)
  await ffmpeg.run({
    input: path,
    inputOptions: clip.inputOptions,
    outputOptions: outputOptions(measured === null || target === null ? null : loudnessFilter(target, measured)),
    output: part,
    signal,
    seconds,
    onProgress: (progress) => context.progress({ ...progress, fraction: before + progress.fraction * (1 - before) }),
    outputBytes: Math.min(limits.outputBytes, maxBytes ?? limits.outputBytes),
  })
  const { size: bytes } = await stat(part)
  const made = await lookAt(part, { mime, bytes }, context)
  signal.throwIfAborted()
  await rename(part, output)
  return {
    bytes,
    mime,
    ...made,
    loudness: measured === null || target === null ? null : { measured: measured.integrated, target },
  }
}

/** What was written, by its own index where it has one: no other program need be started for that. */
async function lookAt(
  part: string,
  { mime, bytes }: { mime: string; bytes: number },
  context: WorkContext,
): Promise<Pick<TranscodeResult, 'width' | 'height' | 'seconds'>> {
  if (mime === 'audio/mpeg') {
    const { seconds } = await probeTimed(part, { way: 'timed', mime, bytes }, context)
    return { width: null, height: null, seconds }
  }
  const { audio, seconds, video } = await openMovie(part)
  // ffmpeg is content with an empty track.
  if ((mime === 'video/mp4' ? video : audio) === undefined) {
    const what = mime === 'video/mp4' ? 'picture' : 'sound'
    throw new MediaWorkError('damaged', `There is no ${what} in that part of it, or none that can be decoded.`)
  }
  return { width: video?.width ?? null, height: video?.height ?? null, seconds }
}

/**
 * The bits a second that are left for the picture (or the sound) when the whole may have so many bytes.
 * @throws MediaWorkError `too_large`
 */
export function kilobitsFor(
  maxBytes: number,
  { seconds, otherKbps, leastKbps }: { seconds: number; otherKbps: number; leastKbps: number },
): number {
  // Less the container, and one second that the encoder may be ahead by (its `bufsize`).
  const kilobits = ((maxBytes * 8 * 0.93) / 1000 - otherKbps * seconds) / (seconds + 1)
  if (kilobits < leastKbps) {
    const words = `${Math.round(seconds)} s cannot be made to fit in ${(maxBytes / 1e6).toFixed(1)} MB. Trim it.`
    throw new MediaWorkError('too_large', words)
  }
  return Math.floor(kilobits)
}
