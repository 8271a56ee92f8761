import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { MediaWorkError } from '../errors.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { WorkContext } from '../process/context.ts'
import { spanOf } from './motion.ts'
import type { ScenePage, WaveformLayer } from './scene.ts'

const SAMPLE_RATE = 8_000
/** Of a `moving` waveform: the time that its bars cover. */
const WINDOW_SECONDS = 4
const DEFAULT_BARS = 60
/** More would be thinner than a pixel of usual layers. */
const MAX_PARTS = 20_000

/** The bars of a waveform at a moment. */
export interface Bars {
  /** 0 to 1, from left to right. */
  readonly levels: readonly number[]
  /** How many of them are in the color of what was played. */
  readonly played: number
  /** Increases whenever they change. */
  readonly step: number
}

/** How loud each part of the sound of a waveform is, 0 to 1, where 1 is the loudest one. */
export async function levelsOf(
  layer: WaveformLayer,
  page: ScenePage,
  context: WorkContext,
): Promise<readonly number[]> {
  const { fromSeconds = 0, path } = layer
  const { audio } = await probeWorkable({ path, kind: await fileKind(path), probed: undefined }, context)
  if (audio === null) throw new MediaWorkError('unsupported', 'The file has no sound.')
  const { end, start } = spanOf(layer, page)
  const seconds = end - start
  const parts = Math.min(MAX_PARTS, Math.max(1, Math.round(seconds / partSeconds(layer, seconds))))
  const samples = join(await context.scratch(), `samples-${randomUUID()}`)
  const length = seconds.toFixed(3)
  await context.ffmpeg.run({
    input: path,
    inputOptions: ['-ss', fromSeconds.toFixed(3), '-vn', '-sn', '-dn'],
    // Padded, so that the parts keep their length after the end of the file.
    outputOptions: [
      '-map',
      '0:a:0',
      '-ac',
      '1',
      '-ar',
      String(SAMPLE_RATE),
      '-af',
      `apad=whole_dur=${length}`,
      '-t',
      length,
      '-c:a',
      'pcm_u8',
      '-f',
      'u8',
    ],
    output: samples,
    signal: context.signal,
  })
  const peaks = await context.threads.peaks({ path: samples, parts }, context.signal)
  const loudest = Math.max(...peaks, 0.01)
  return peaks.map((peak) => peak / loudest)
}

/** @param seconds from the start of the layer */
export function barsAt(layer: WaveformLayer, levels: readonly number[], seconds: number, shownSeconds: number): Bars {
  const { barCount = DEFAULT_BARS, barRange = 'whole' } = layer
  const now = Math.floor(seconds / partSeconds(layer, shownSeconds) + 1e-6)
  if (barRange === 'whole') return { levels, played: now, step: now }
  const played = Math.floor(barCount / 2)
  const shown = Array.from({ length: barCount }, (_, index) => levels[now - played + index] ?? 0)
  return { levels: shown, played, step: now }
}

/** How long the sound of one bar is. */
function partSeconds({ barCount = DEFAULT_BARS, barRange = 'whole' }: WaveformLayer, seconds: number): number {
  return (barRange === 'whole' ? seconds : WINDOW_SECONDS) / barCount
}
