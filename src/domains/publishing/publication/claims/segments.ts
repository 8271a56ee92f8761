import type { SegmentRow } from '../../posts/index.ts'

/** Whether the outcome of a call is unknown. */
export function isCalling(segments: readonly SegmentRow[]): boolean {
  return segments.some(({ status }) => status === 'calling')
}

/** Milliseconds since the epoch. */
export function timeOf(at: string | null): number | null {
  return at === null ? null : Date.parse(at)
}
