import type { Arrivals } from './arrivals.ts'
import type { Contradiction } from './claims.ts'
import { BOUNDS, type PhaseName, type StreamBound, type StreamName } from './phases.ts'

/** The largest offset between audio and video. A slate and transcoded audio have their own timing. */
const MAX_APART_MS = { studio: 1_000, stage: 50 }

/** The results of a destination in a phase. */
export interface Row extends Arrivals {
  readonly phase: PhaseName
  readonly stream: StreamName
  readonly destination: string
  /** Expected frames that did not arrive; negative if more arrived, for example from a file or after a takeover. */
  readonly missing: number
  /** Frames per second. */
  readonly rate: number
}

const COLUMNS = [
  'phase',
  'destination',
  'longest video gap (limit), s',
  'longest audio gap (limit), s',
  'frames',
  'lost frames (limit)',
  'from slate or file (limit)',
  'skipped (0)',
  'backward timestamps (0)',
  'audio offset (limit), ms',
  'contradictions (0)',
  'ok',
]

export function tableHead(): string {
  return `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`
}

export function tableLine(row: Row, contradictions: readonly Contradiction[]): string {
  const { back, destination, gapMs, missing, others, phase, frames, rate, skipped, audioGapMs, stream, syncMs } = row
  const bound = BOUNDS[phase][stream]
  const contradictionCount = contradictions.filter((one) => one.phase === phase && one.stream === stream).length
  const cells = [
    phase,
    destination,
    `${seconds(gapMs)} (${bound.frame})`,
    `${seconds(audioGapMs)} (${bound.audio})`,
    frames,
    `${missing} (${Math.round(bound.lost * rate)})`,
    `${others} (${mostOthers(row)})`,
    skipped ?? '–',
    back,
    `${Math.round(syncMs)} (${MAX_APART_MS[stream]})`,
    contradictionCount,
    brokenBounds(row).length + contradictionCount === 0 ? 'yes' : 'NO',
  ]
  return `| ${cells.join(' | ')} |`
}

/** Descriptions of the exceeded limits of a destination. */
export function brokenBounds(row: Row): string[] {
  const { back, destination, gapMs, missing, others, phase, rate, skipped, audioGapMs, stream, syncMs } = row
  const bound = BOUNDS[phase][stream]
  const mostLost = Math.round(bound.lost * rate)
  return [
    gapMs > bound.frame * 1_000 && `no video for ${seconds(gapMs)} s, at most ${bound.frame} s`,
    audioGapMs > bound.audio * 1_000 && `no audio for ${seconds(audioGapMs)} s, at most ${bound.audio} s`,
    others > mostOthers(row) && `${others} frames were not from the encoder, at most ${mostOthers(row)}`,
    missing > mostLost && `${missing} frames were lost, at most ${mostLost}`,
    (skipped ?? 0) > 0 && `${skipped} frames of a session were skipped`,
    back > 0 && `${back} timestamps went backward`,
    syncMs > MAX_APART_MS[stream] &&
      `audio and video were ${Math.round(syncMs)} ms apart, at most ${MAX_APART_MS[stream]} ms`,
  ].flatMap((fault) => (fault === false ? [] : [`${phase}, ${destination}: ${fault}`]))
}

function mostOthers({ phase, rate, stream }: Row): number {
  const { away, others = away }: StreamBound = BOUNDS[phase][stream]
  return Math.round(others * rate)
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
