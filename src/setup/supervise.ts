import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './log.ts'

/** A new process and when it is ready. `ready` rejects with a readable message when it cannot be used. */
export interface Launched {
  child: ChildProcess
  ready: Promise<void>
}

export interface SuperviseOptions {
  /** The name in the log. */
  name: string
  /** Spawns the process. Called again after each unexpected exit, and always awaited before the next call. */
  launch: () => Promise<Launched>
  /** The signals that end it, gentlest first, each with the milliseconds before the next one. */
  stopSignals: readonly (readonly [signal: NodeJS.Signals, patienceMs: number])[]
  log: Log
}

/** A process that is kept running until `stop`. */
export interface Supervised {
  /** Ends the process and resolves when it has ended. A second call waits for the same end. */
  stop(): Promise<void>
}

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** A process that ran this long was healthy, so its next failure starts with the first delay again. */
const HEALTHY_MS = 60_000

/**
 * Starts a process and restarts it whenever it exits by itself, after 0.1 s at first and twice as long after each
 * further failure, up to 10 s. Every exit and restart is logged.
 *
 * @throws the rejection of `ready`, when the very first start fails; no process is left running then
 */
export async function supervise({ name, launch, stopSignals, log }: SuperviseOptions): Promise<Supervised> {
  const stopping = new AbortController()
  let current: ChildProcess | undefined

  const start = async (): Promise<void> => {
    const { child, ready } = await launch()
    current = child
    try {
      if (stopping.signal.aborted) child.kill(stopSignals[0]?.[0])
      await ready
    } catch (error) {
      await end(child)
      throw error
    }
  }
  const end = async (child: ChildProcess): Promise<void> => {
    for (const [signal, patienceMs] of stopSignals) {
      if (!isRunning(child)) return
      child.kill(signal)
      await exitWithin(child, patienceMs)
    }
  }

  await start()
  let startedAt = performance.now()
  const running = (async () => {
    let wait = FIRST_DELAY_MS
    while (!stopping.signal.aborted) {
      if (current !== undefined && isRunning(current)) await once(current, 'exit')
      if (stopping.signal.aborted) return
      if (performance.now() - startedAt > HEALTHY_MS) wait = FIRST_DELAY_MS
      log.error({ ...exitOf(current), retryInMs: wait }, `${name} ended unexpectedly and is being restarted`)
      await delay(wait, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      wait = Math.min(wait * 2, LONGEST_DELAY_MS)
      startedAt = performance.now()
      await start().then(
        () => log.info(`${name} is running again`),
        (error: unknown) => {
          if (!stopping.signal.aborted) log.error({ err: error }, `${name} could not be restarted`)
        },
      )
    }
  })()

  let stopped: Promise<void> | undefined
  return {
    stop: () =>
      (stopped ??= (async () => {
        stopping.abort()
        if (current !== undefined) await end(current)
        await running
      })()),
  }
}

/** Whether a spawned process has neither exited nor failed to start. */
function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

function exitOf(child: ChildProcess | undefined): { exitCode?: number; signal?: string } {
  return {
    ...(child?.exitCode != null && { exitCode: child.exitCode }),
    ...(child?.signalCode != null && { signal: child.signalCode }),
  }
}

async function exitWithin(child: ChildProcess, milliseconds: number): Promise<void> {
  if (!isRunning(child)) return
  const timer = new AbortController()
  await Promise.race([
    once(child, 'exit').finally(() => timer.abort()),
    delay(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined),
  ])
}
