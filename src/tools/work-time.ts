import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Measures the time that the main thread spends on a request, turn or job. A piece of work begins when a handler is called
 * or resumes after a wait, and ends when it waits again. JavaScript does not report when a handler resumes, so what
 * handlers wait for calls `resumed` with the result: statements of the database, replies of other hosts, threads.
 */

/** A request, turn or job. */
export interface Work {
  /** Called after each piece of work. @param ms how long it kept the main thread */
  spent(ms: number): void
}

const storage = new AsyncLocalStorage<Work>()
let current: Work | undefined
let since = 0
let endsWithTick = false

/** Runs a piece of work, whose time is measured by the caller. What it awaits and continues with belongs to it, too. */
export function inWork<T>(work: Work, action: () => T): T {
  return storage.run(work, action)
}

/** Runs and measures a piece of work that does not begin anything which continues later. */
export function measured<T>(work: Work, action: () => T): T {
  switchTo(work)
  try {
    return action()
  } finally {
    switchTo(undefined)
  }
}

/** Runs and measures a piece of work, and what it continues with after waits. */
export function working<T>(work: Work, action: () => T): T {
  return measured(work, () => storage.run(work, action))
}

/**
 * The work that awaits this result is about to continue. Its piece ends when all reactions of promises have run, which is
 * when Node runs the callbacks of `nextTick`.
 */
export function resumed(): void {
  const work = storage.getStore()
  if (work === undefined) return
  switchTo(work)
  if (endsWithTick) return
  endsWithTick = true
  process.nextTick(endPiece)
}

function endPiece(): void {
  endsWithTick = false
  switchTo(undefined)
}

function switchTo(next: Work | undefined): void {
  const now = performance.now()
  const before = current
  const ms = now - since
  current = next
  since = now
  before?.spent(ms)
}
