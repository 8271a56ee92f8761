import type { WorkContext } from '../process/context.ts'
import type { Progress } from '../types.ts'

/**
 * Loudness normalization in two passes (EBU R 128, ITU-R BS.1770). The first pass measures, the second applies one gain to
 * the whole file. A single pass does not know the rest of the file: it varies the volume, and misses the target on short
 * files. So does the second pass of `loudnorm` if a peak would be too high (1.4 LU off with 4 s of noise). Here a limiter
 * reduces such peaks and changes nothing else. The first pass reads only the audio, which is fast compared to encoding.
 */

export interface Measured {
  /** LUFS. */
  readonly integrated: number
  /** dBTP. */
  readonly truePeak: number
}

/** Maximum true peak in dBTP. It leaves headroom for lossy encoding. */
const MAX_PEAK = -1.5
/** Audio below this loudness is silence (the absolute gate of BS.1770). */
const GATE = -70

export interface MeasureOptions {
  readonly inputOptions: readonly string[]
  readonly seconds: number
  readonly onProgress: (progress: Progress) => void
}

/** Measures the loudness of a file. Null for silence. @throws MediaWorkError */
export async function measureLoudness(
  path: string,
  { inputOptions, seconds, onProgress }: MeasureOptions,
  { ffmpeg, signal }: WorkContext,
): Promise<Measured | null> {
  const log = await ffmpeg.run({
    input: path,
    inputOptions: [...inputOptions, '-vn', '-sn', '-dn'],
    outputOptions: ['-map', '0:a:0', '-af', 'ebur128=peak=true:framelog=verbose', '-f', 'null'],
    output: '-',
    signal,
    seconds,
    onProgress,
  })
  const summary = log.slice(log.lastIndexOf('Summary:'))
  const value = (pattern: RegExp) => Number(pattern.exec(summary)?.[1] ?? Number.NaN)
  const measured: Measured = { integrated: value(/\bI:\s+(\S+) LUFS/), truePeak: value(/\bPeak:\s+(\S+) dBFS/) }
  return Number.isFinite(measured.truePeak) && measured.integrated > GATE ? measured : null
}

/** The filters of the second pass. The limiter runs at four times the sample rate to see peaks between samples (BS.1770, annex 2). */
export function loudnessFilter(target: number, { integrated, truePeak }: Measured): string {
  const gain = target - integrated
  const volume = `volume=${gain.toFixed(2)}dB`
  if (truePeak + gain <= MAX_PEAK) return volume
  const limit = (10 ** (MAX_PEAK / 20)).toFixed(4)
  return `${volume},aresample=192000,alimiter=limit=${limit}:attack=1:release=50:level=false,aresample=48000`
}
