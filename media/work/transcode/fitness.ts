import { MediaWorkError } from '../errors.ts'
import { VIDEO_PRESETS, type VideoPreset, type VideoRule } from './presets.ts'
import type { TranscodeSpec } from './spec.ts'

/** What is known about a file before it is processed. Null means unknown. */
export interface SourceFacts {
  readonly kind: 'image' | 'video' | 'audio' | 'document'
  readonly mime: string
  readonly seconds: number | null
  readonly hasAudio: boolean | null
}

/** Seconds by which a duration may exceed a limit, because containers include the last frame and some silence. */
const TOLERANCE = 0.1

/**
 * Checks that a rendition can be made from a file, as far as that is known before the work starts. A GIF counts as both an
 * image and a video.
 * @throws MediaWorkError `unsupported`, `invalid_settings`, `too_large`
 */
export function checkFitness(spec: TranscodeSpec, { kind, mime, seconds, hasAudio }: SourceFacts): void {
  const isMoving = kind === 'video' || mime === 'image/gif'
  if (spec.kind === 'image') {
    if (kind === 'video' || kind === 'audio') {
      throw refused('Images can be made only from images and documents. For a video, use its thumbnails.')
    }
    return
  }
  if (!isMoving && kind !== 'audio') throw refused('The file is neither video nor audio.')
  if (spec.kind === 'video' && !isMoving) throw refused('The file has no video.')
  if (spec.kind === 'audio' && (mime === 'image/gif' || hasAudio === false)) throw refused('The file has no audio.')
  const { length } = trimRange(spec.trim, seconds)
  if (spec.kind === 'video' && spec.preset !== undefined) checkLength(length, spec.preset)
}

/**
 * The part of a source that is left after a trim. Its length is null if neither the file nor the caller gives it.
 * @throws MediaWorkError `invalid_settings`
 */
export function trimRange(
  trim: { readonly from?: number; readonly to?: number } | undefined,
  seconds: number | null,
): { readonly from: number; readonly length: number | null } {
  const from = trim?.from ?? 0
  if (seconds !== null && from >= seconds) {
    const message = `The trim starts at ${from} s, but the file is ${seconds.toFixed(1)} s long.`
    throw new MediaWorkError('invalid_settings', message)
  }
  const to = Math.min(trim?.to ?? Number.POSITIVE_INFINITY, seconds ?? Number.POSITIVE_INFINITY)
  return { from, length: Number.isFinite(to) ? to - from : null }
}

/** Checks a duration against the limits of a preset. @throws MediaWorkError `too_large`, `invalid_settings` */
export function checkLength(seconds: number | null, preset: VideoPreset): void {
  const { maxSeconds, minSeconds }: VideoRule = VIDEO_PRESETS[preset]
  if (seconds === null) return
  const actual = `${seconds.toFixed(1)} s`
  if (maxSeconds !== undefined && seconds > maxSeconds + TOLERANCE) {
    throw new MediaWorkError(
      'too_large',
      `The preset ${preset} allows at most ${maxSeconds} s, but this is ${actual}. Trim the file.`,
    )
  }
  if (minSeconds !== undefined && seconds < minSeconds - TOLERANCE) {
    throw new MediaWorkError(
      'invalid_settings',
      `The preset ${preset} requires at least ${minSeconds} s, but this is ${actual}.`,
    )
  }
}

function refused(message: string): MediaWorkError {
  return new MediaWorkError('unsupported', message)
}
