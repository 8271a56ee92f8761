/** Milliseconds of the machine's monotonic clock: the same in every process, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** What to add to this process's `performance.now()` to get {@link monotonicMs}. */
export function monotonicOffsetMs(): number {
  let best = { offset: 0, gap: Infinity }
  // Two clocks cannot be read at once: of many tries the one that was least disturbed.
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const before = monotonicMs()
    const now = performance.now()
    const gap = monotonicMs() - before
    if (gap < best.gap) best = { offset: before + gap / 2 - now, gap }
  }
  return best.offset
}
