import { MediaWorkError } from '../errors.ts'
import { VIDEO_PRESETS, type VideoPreset, type VideoRule } from './presets.ts'
import type { TranscodeSpec } from './spec.ts'

/** What is known of a file before anybody works on it. Null is what is not known. */
export interface SourceFacts {
  readonly kind: 'image' | 'video' | 'audio' | 'document'
  readonly mime: string
  readonly seconds: number | null
  readonly hasAudio: boolean | null
}

/** A container counts the last frame and some silence: a tenth of a second is no reason to refuse. */
const TOLERANCE = 0.1

/**
 * Refuses what cannot be made of a file, as far as what is known of it tells: sooner, and cheaper, than the work itself
 * would. A GIF is a picture and a video, and both are right.
 * @throws MediaWorkError `unsupported`, `invalid_settings`, `too_large`
 */
export function checkFitness(spec: TranscodeSpec, { kind, mime, seconds, hasAudio }: SourceFacts): void {
  const moves = kind === 'video' || mime === 'image/gif'
  if (spec.kind === 'image') {
    if (kind === 'video' || kind === 'audio') {
      throw refused('A picture is made of pictures and documents; of a video, ask for thumbnails.')
    }
    return
  }
  if (!moves && kind !== 'audio') throw refused('It is neither a video nor sound.')
  if (spec.kind === 'video' && !moves) throw refused('There is no picture in it.')
  if (spec.kind === 'audio' && (mime === 'image/gif' || hasAudio === false)) throw refused('There is no sound in it.')
  const { length } = clipped(spec.trim, seconds)
  if (spec.kind === 'video' && spec.preset !== undefined) checkLength(length, spec.preset)
}

/**
 * The part of a source that a trim leaves; its length is null when neither the file nor the caller says it.
 * @throws MediaWorkError `invalid_settings`
 */
export function clipped(
  trim: { readonly from?: number; readonly to?: number } | undefined,
  seconds: number | null,
): { readonly from: number; readonly length: number | null } {
  const from = trim?.from ?? 0
  if (seconds !== null && from >= seconds) {
    const words = `It is ${seconds.toFixed(1)} s long: there is nothing after ${from} s.`
    throw new MediaWorkError('invalid_settings', words)
  }
  const to = Math.min(trim?.to ?? Number.POSITIVE_INFINITY, seconds ?? Number.POSITIVE_INFINITY)
  return { from, length: Number.isFinite(to) ? to - from : null }
}

/** @throws MediaWorkError `too_large`, `invalid_settings` */
export function checkLength(seconds: number | null, preset: VideoPreset): void {
  const { maxSeconds, minSeconds }: VideoRule = VIDEO_PRESETS[preset]
  if (seconds === null) return
  const is = `this is ${seconds.toFixed(1)} s`
  if (maxSeconds !== undefined && seconds > maxSeconds + TOLERANCE) {
    throw new MediaWorkError('too_large', `${preset} takes ${maxSeconds} s at most, ${is}. Trim it.`)
  }
  if (minSeconds !== undefined && seconds < minSeconds - TOLERANCE) {
    throw new MediaWorkError('invalid_settings', `${preset} takes ${minSeconds} s at least, ${is}.`)
  }
}

function refused(message: string): MediaWorkError {
  return new MediaWorkError('unsupported', message)
}
