import { SECOND } from '../../../core/clock.ts'

/** The length of a step. Measurements are summed per step. */
export const STEP_MS = 10 * SECOND

/** The lengths of steps in replies, in seconds. */
const LENGTHS = [10, 30, 60, 300, 900, 3_600, 21_600] as const
/** Points of a series. More make no better picture. */
const MAX_POINTS = 400

/** The shortest steps with which a span has no more points than a reply shows. */
export function stepSecondsOf(spanMs: number): number {
  return LENGTHS.find((seconds) => spanMs / (seconds * SECOND) <= MAX_POINTS) ?? 86_400
}

/** The starts of the steps that touch a span, in milliseconds. */
export function stepsOf(start: number, end: number, stepSeconds: number): number[] {
  const stepMs = stepSeconds * SECOND
  const first = Math.floor(start / stepMs) * stepMs
  const count = Math.max(1, Math.ceil((end - first) / stepMs))
  return Array.from({ length: count }, (_, index) => first + index * stepMs)
}
