import type { ScheduledTime } from './wall-clock.ts'
import { parseLocal } from './local-time.ts'

/**
 * Yields times of a pattern in the order of their instants, each instant once. `times` must be in the order of their
 * wall clocks. A time that does not exist moves forward, so it can pass later times or fall on the same instant as one
 * of them. Of two times on the same instant, the one that was not moved is kept. Reads one time ahead.
 */
export function* inOrder<T extends ScheduledTime>(times: Iterable<T>): Generator<T> {
  let waiting: { readonly used: number; readonly time: T }[] = []
  for (const time of times) {
    const nominal = localOf(time.wallClock)
    // All later times are shown at `nominal` or later, so everything before it is final.
    yield* withoutRepeats(waiting.filter(({ used }) => used < nominal))
    waiting = waiting.filter(({ used }) => used >= nominal)
    waiting.push({ used: time.adjustment === null ? nominal : localOf(time.adjustment.usedTime), time })
    waiting.sort((a, b) => a.used - b.used || moved(a.time) - moved(b.time))
  }
  yield* withoutRepeats(waiting)
}

/** Waiting times that are shown at the same local time are all in `waiting` together, so repeats are neighbors. */
function* withoutRepeats<T extends ScheduledTime>(sorted: readonly { readonly time: T }[]): Generator<T> {
  let last: number | undefined
  for (const { time } of sorted) {
    const at = time.instant.getTime()
    if (at !== last) yield time
    last = at
  }
}

function moved({ adjustment }: ScheduledTime): number {
  return adjustment?.kind === 'gap' ? 1 : 0
}

function localOf(text: string): number {
  const local = parseLocal(text)
  if (local === undefined) throw new Error(`Not a wall clock: ${text}`)
  return local
}
