const FIRST_MS = 2_000
/** Meta asks to read the status at most once a minute (developers.facebook.com, Content publishing, 2026-11). */
const MAX_MS = 60_000

/** How long to wait before the status is read again: soon at first, and once a minute later. Milliseconds. */
export function pollDelay(polls: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** polls)
}
