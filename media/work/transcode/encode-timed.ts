import { rename, stat } from 'node:fs/promises'
import { MediaWorkError } from '../errors.ts'
import { openMovie } from '../../playout/movie.ts'
import { partPath } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { probeTimed, type TimedMedia } from '../probe/timed.ts'
import type { TranscodeResult } from '../types.ts'
import { trimRange } from './fitness.ts'
import { loudnessFilter, measureLoudness } from './loudness.ts'
import type { AudioSpec, VideoSpec } from './spec.ts'

export interface Encoding {
  readonly source: TimedMedia
  readonly spec: VideoSpec | AudioSpec
  /** Returns the options after the input, without the name of the output. */
  readonly outputOptions: (audioFilter: string | null) => readonly string[]
  readonly hasAudio: boolean
  readonly clip: Clip
  readonly maxBytes: number | undefined
  readonly mime: string
}

/** The part of the source that is used. */
export interface Clip {
  readonly from: number
  /** Null if neither the file nor the caller gives the duration. */
  readonly seconds: number | null
  readonly inputOptions: readonly string[]
}

const DEFAULT_LOUDNESS = -14
/** The share of the first pass in the progress. */
const MEASURE_SHARE = 0.1

/** @throws MediaWorkError `invalid_settings` */
export function clipOf(source: TimedMedia, { trim }: VideoSpec | AudioSpec): Clip {
  const { from, length: seconds } = trimRange(trim, source.seconds)
  const start = from > 0 ? ['-ss', from.toFixed(3)] : []
  const length = trim?.to === undefined || seconds === null ? [] : ['-t', seconds.toFixed(3)]
  return { from, seconds, inputOptions: [...start, ...length] }
}

/** Measures the loudness if it is to be changed, encodes to a temporary file, and renames it to the output. */
export async function encodeTimed(
  path: string,
  output: string,
  { source, spec, outputOptions, hasAudio, clip, maxBytes, mime }: Encoding,
  context: WorkContext,
): Promise<TranscodeResult> {
  const { ffmpeg, signal, limits } = context
  const target = spec.loudness === undefined ? DEFAULT_LOUDNESS : spec.loudness
  const seconds = clip.seconds ?? source.seconds ?? 0
  const measures = hasAudio && target !== null
  const measured = measures
    ? await measureLoudness(
        path,
        {
          inputOptions: clip.inputOptions,
          seconds,
          onProgress: ({ fraction }) =>
            context.progress({ fraction: fraction * MEASURE_SHARE, fps: null, etaSeconds: null }),
        },
        context,
      )
    : null
  const before = measures ? MEASURE_SHARE : 0
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
  const encoded = await probeOutput(part, { mime, bytes }, context)
  signal.throwIfAborted()
  await rename(part, output)
  return {
    bytes,
    mime,
    ...encoded,
    loudness: measured === null || target === null ? null : { measured: measured.integrated, target },
  }
}

/** Reads the dimensions and duration of the output from its own index, if it has one, without starting ffprobe. */
async function probeOutput(
  part: string,
  { mime, bytes }: { mime: string; bytes: number },
  context: WorkContext,
): Promise<Pick<TranscodeResult, 'width' | 'height' | 'seconds'>> {
  if (mime === 'audio/mpeg') {
    const { seconds } = await probeTimed(part, { decoder: 'ffmpeg', mime, bytes }, context)
    return { width: null, height: null, seconds }
  }
  const { audio, seconds, video } = await openMovie(part)
  // ffmpeg does not fail if a track is empty.
  if ((mime === 'video/mp4' ? video : audio) === undefined) {
    const track = mime === 'video/mp4' ? 'video' : 'audio'
    throw new MediaWorkError('damaged', `This part of the file has no ${track} that can be decoded.`)
  }
  return { width: video?.width ?? null, height: video?.height ?? null, seconds }
}

/**
 * The bitrate that is left for a track if the whole output may have `maxBytes`, in kbit/s.
 * @throws MediaWorkError `too_large`
 */
export function kilobitsFor(
  maxBytes: number,
  { seconds, otherKbps, minKbps }: { seconds: number; otherKbps: number; minKbps: number },
): number {
  // Subtract the container, and one second by which the encoder may exceed the bitrate (its `bufsize`).
  const kilobits = ((maxBytes * 8 * 0.93) / 1000 - otherKbps * seconds) / (seconds + 1)
  if (kilobits < minKbps) {
    const message = `${Math.round(seconds)} s cannot fit in ${(maxBytes / 1e6).toFixed(1)} MB. Trim the file.`
    throw new MediaWorkError('too_large', message)
  }
  return Math.floor(kilobits)
}
