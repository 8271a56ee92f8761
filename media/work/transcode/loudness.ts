import type { WorkContext } from '../process/context.ts'
import type { Progress } from '../types.ts'

/**
 * Loudness in two passes (EBU R 128, ITU-R BS.1770): the first measures, the second turns the volume by one amount for
 * the whole length. One pass alone cannot know what is to come: it rides the volume up and down, and misses the target
 * on anything short. So does `loudnorm` in its second pass wherever a peak would be too high (1.4 LU off with 4 s of
 * noise); here a limiter takes such peaks down and nothing else changes. The first pass reads the sound alone, which
 * takes a small part of the time of encoding.
 */

export interface Measured {
  /** LUFS. */
  readonly integrated: number
  /** dBTP. */
  readonly truePeak: number
}

/** dBTP that lossy encoding may add to without clipping. */
const PEAK = -1.5
/** Below is silence (the absolute gate of BS.1770). */
const GATE = -70

export interface MeasureOptions {
  readonly inputOptions: readonly string[]
  readonly seconds: number
  readonly onProgress: (progress: Progress) => void
}

/** Null when there is only silence. @throws MediaWorkError */
export async function measureLoudness(
  path: string,
  { inputOptions, seconds, onProgress }: MeasureOptions,
  { ffmpeg, signal }: WorkContext,
): Promise<Measured | null> {
  const said = await ffmpeg.run({
    input: path,
    inputOptions: [...inputOptions, '-vn', '-sn', '-dn'],
    outputOptions: ['-map', '0:a:0', '-af', 'ebur128=peak=true:framelog=verbose', '-f', 'null'],
    output: '-',
    signal,
    seconds,
    onProgress,
  })
  const summary = said.slice(said.lastIndexOf('Summary:'))
  const value = (pattern: RegExp) => Number(pattern.exec(summary)?.[1] ?? Number.NaN)
  const measured: Measured = { integrated: value(/\bI:\s+(\S+) LUFS/), truePeak: value(/\bPeak:\s+(\S+) dBFS/) }
  return Number.isFinite(measured.truePeak) && measured.integrated > GATE ? measured : null
}

/** The filters of the second pass. Peaks between the samples show at four times their rate (BS.1770, annex 2). */
export function loudnessFilter(target: number, { integrated, truePeak }: Measured): string {
  const gain = target - integrated
  const volume = `volume=${gain.toFixed(2)}dB`
  if (truePeak + gain <= PEAK) return volume
  const limit = (10 ** (PEAK / 20)).toFixed(4)
  return `${volume},aresample=192000,alimiter=limit=${limit}:attack=1:release=50:level=false,aresample=48000`
}
