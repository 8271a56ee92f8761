import { randomBytes } from 'node:crypto'
import type { RandomSource, RuntimeClock } from './ports.ts'

/** The event loop of this process. Timers do not keep it alive. */
export function systemClock(monotonic: () => number = () => performance.now()): RuntimeClock {
  return {
    monotonic,
    after: (ms, action) => {
      const timer = setTimeout(action, ms).unref()
      return () => clearTimeout(timer)
    },
    soon: (action) => void setImmediate(action),
  }
}

export const systemRandom: RandomSource = {
  bytes: (count) => randomBytes(count),
  fraction: () => Math.random(),
}

/** Waits for `work` for at most `ms`. Errors, also later ones, are passed to `onError`. */
export async function within(
  clock: RuntimeClock,
  ms: number,
  work: Promise<unknown>,
  onError: (error: unknown) => void = () => undefined,
): Promise<void> {
  let cancel: () => void = () => undefined
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve)
  })
  await Promise.race([work.catch(onError), over])
  cancel()
}
