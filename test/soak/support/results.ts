import type { Arrivals } from './arrivals.ts'
import type { Contradiction } from './claims.ts'
import { BOUNDS, type PhaseName, type StreamBound, type StreamName } from './phases.ts'

/** The largest offset between sound and pictures. A slate and transcoded sound have their own timing. */
const MOST_APART_MS = { studio: 1_000, stage: 50 }

/** The results of a destination in a phase. */
export interface Row extends Arrivals {
  readonly phase: PhaseName
  readonly stream: StreamName
  readonly destination: string
  /** Expected pictures that did not arrive; negative when more arrived, as from a file or a takeover. */
  readonly missing: number
  /** Pictures per second. */
  readonly rate: number
}

const COLUMNS = [
  'phase',
  'destination',
  'longest gap of pictures (limit), s',
  'longest gap of sound (limit), s',
  'pictures',
  'lost pictures (limit)',
  'from slate or file (limit)',
  'skipped (0)',
  'backward timestamps (0)',
  'sound offset (limit), ms',
  'contradictions (0)',
  'ok',
]

export function tableHead(): string {
  return `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`
}

export function tableLine(row: Row, contradictions: readonly Contradiction[]): string {
  const { back, destination, gapMs, missing, others, phase, pictures, rate, skipped, soundGapMs, stream, syncMs } = row
  const bound = BOUNDS[phase][stream]
  const contradictionCount = contradictions.filter((one) => one.phase === phase && one.stream === stream).length
  const cells = [
    phase,
    destination,
    `${seconds(gapMs)} (${bound.picture})`,
    `${seconds(soundGapMs)} (${bound.sound})`,
    pictures,
    `${missing} (${Math.round(bound.lost * rate)})`,
    `${others} (${mostOthers(row)})`,
    skipped ?? '–',
    back,
    `${Math.round(syncMs)} (${MOST_APART_MS[stream]})`,
    contradictionCount,
    brokenBounds(row).length + contradictionCount === 0 ? 'yes' : 'NO',
  ]
  return `| ${cells.join(' | ')} |`
}

/** Descriptions of the exceeded limits of a destination. */
export function brokenBounds(row: Row): string[] {
  const { back, destination, gapMs, missing, others, phase, rate, skipped, soundGapMs, stream, syncMs } = row
  const bound = BOUNDS[phase][stream]
  const mostLost = Math.round(bound.lost * rate)
  return [
    gapMs > bound.picture * 1_000 && `no picture for ${seconds(gapMs)} s, at most ${bound.picture} s`,
    soundGapMs > bound.sound * 1_000 && `no sound for ${seconds(soundGapMs)} s, at most ${bound.sound} s`,
    others > mostOthers(row) && `${others} pictures were not from the encoder, at most ${mostOthers(row)}`,
    missing > mostLost && `${missing} pictures were lost, at most ${mostLost}`,
    (skipped ?? 0) > 0 && `${skipped} pictures of a session were skipped`,
    back > 0 && `${back} timestamps went backward`,
    syncMs > MOST_APART_MS[stream] &&
      `sound and pictures were ${Math.round(syncMs)} ms apart, at most ${MOST_APART_MS[stream]} ms`,
  ].flatMap((fault) => (fault === false ? [] : [`${phase}, ${destination}: ${fault}`]))
}

function mostOthers({ phase, rate, stream }: Row): number {
  const { away, others = away }: StreamBound = BOUNDS[phase][stream]
  return Math.round(others * rate)
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
