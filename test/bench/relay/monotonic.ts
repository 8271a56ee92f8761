/** Milliseconds of the machine's monotonic clock, which is the same in every process, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** The offset from this process's `performance.now()` to {@link monotonicMs}. */
export function monotonicOffsetMs(): number {
  let best = { offset: 0, gap: Infinity }
  // Two clocks cannot be read at once, so use the least disturbed of many tries.
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const before = monotonicMs()
    const now = performance.now()
    const gap = monotonicMs() - before
    if (gap < best.gap) best = { offset: before + gap / 2 - now, gap }
  }
  return best.offset
}
