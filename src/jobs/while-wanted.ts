import type { JobContext } from '../core/job.ts'

/** How often progress is saved, which also notices that the work is not wanted any more. */
const SAVE_MS = 1_000

/** What the job works on was cancelled or deleted. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

/** Reports the progress as a fraction, and what a model has written so far. */
export type Report = (fraction: number, partialText?: string) => void

export interface WantedWork<T> {
  /** The `detail` of `job.progress`. */
  readonly detail: string
  /** Stores the progress in percent. @returns how many rows it changed: none if the work is not wanted any more */
  readonly save: (percent: number) => Promise<number>
  readonly work: (signal: AbortSignal, report: Report) => Promise<T>
}

/**
 * Runs work that is aborted when its job ends, or when it was cancelled on any node. Progress is saved at the start, and
 * once a second after that.
 * @throws CancelledError
 */
export async function runWhileWanted<T>(
  { log, progress, signal }: Pick<JobContext<unknown>, 'log' | 'progress' | 'signal'>,
  { detail, save, work }: WantedWork<T>,
): Promise<T> {
  const cancelled = new AbortController()
  let percent = 0
  let saving: Promise<void> | undefined
  const check = async () => {
    if ((await save(percent)) === 0) cancelled.abort(new CancelledError('the work was cancelled'))
  }
  await check()
  cancelled.signal.throwIfAborted()
  const timer = setInterval(() => {
    saving ??= check()
      .catch((error: unknown) => log.debug({ error }, 'the progress of a job could not be saved'))
      .finally(() => (saving = undefined))
  }, SAVE_MS)
  try {
    return await work(AbortSignal.any([signal, cancelled.signal]), (fraction, partialText) => {
      percent = Math.min(99, Math.floor(fraction * 100))
      progress(percent, detail, partialText)
    })
  } catch (error) {
    throw cancelled.signal.aborted ? cancelled.signal.reason : error
  } finally {
    clearInterval(timer)
    await saving
  }
}
