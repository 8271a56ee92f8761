import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { MediaLog } from '../../types.ts'
import { Watchdog } from '../../watchdog.ts'
import { MediaWorkError, type MediaWorkErrorCode } from '../errors.ts'
import type { Progress } from '../types.ts'
import { residentBytes } from './memory.ts'
import type { HostMessage, Task, WorkMessage, WorkSettings } from './protocol.ts'

/** The process ended under a job. */
export class ProcessDiedError extends Error {
  override readonly name = 'ProcessDiedError'
  /** Ended from here, because it took too much memory. */
  readonly memory: boolean

  constructor(message: string, memory: boolean) {
    super(message)
    this.memory = memory
  }
}

export interface RunOptions {
  readonly scratch: string
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
}

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
  readonly onProgress: (progress: Progress) => void
  /** Why the process is being ended for this job's sake. */
  verdict?: MediaWorkError
}

const ENTRY = fileURLToPath(new URL('main.ts', import.meta.url))
/** Half a second of a processor, of which others may leave little. */
const START_SECONDS = 120
/** How long a job may take to stop after it was told to; then the process is ended, and its other jobs begin anew. */
const STOP_MS = 5_000
const MEMORY_WATCH_MS = 250
/** It runs behind everything else, so its event loop may have to wait for long. */
const HANG_SECONDS = 60

/**
 * One work process: jobs in, results out. It leads a process group, which every ffmpeg it starts is in; when it ends,
 * for whatever reason, the whole group is killed.
 */
export class WorkProcess {
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #log: MediaLog
  readonly #jobs = new Map<number, Pending>()
  readonly #ready = Promise.withResolvers<void>()
  readonly #watch: NodeJS.Timeout
  readonly #watchdog: Watchdog
  #nextId = 1
  #ended = false
  #memory = false
  #wasReady = false
  #endedIdle = false

  constructor(settings: WorkSettings, log: MediaLog) {
    this.#log = log
    const { PATH } = process.env
    const child = fork(ENTRY, [], {
      detached: true,
      env: {
        ...(PATH === undefined ? {} : { PATH }),
        UV_THREADPOOL_SIZE: String(settings.limits.quickConcurrency + 4),
      },
      execArgv: [],
      serialization: 'json',
      stdio: ['ignore', 'ignore', 2, 'ipc'],
    })
    this.#child = child
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#onExit(code, signal)
        resolve()
      })
      child.once('error', (error) => {
        log.error({ error }, 'a media work process cannot be reached')
        if (child.pid === undefined) {
          this.#onExit(null, null)
          resolve()
        }
      })
    })
    child.on('message', (message) => this.#onMessage(message as WorkMessage))
    this.#send({ type: 'start', settings })
    // Whoever waits for it learns of its end; nobody has to.
    this.#ready.promise.catch(() => {})
    this.#watchdog = new Watchdog({
      limits: { everyMs: 1_000, silentAfter: HANG_SECONDS, hangAfter: HANG_SECONDS, startWithin: START_SECONDS },
      ask: () => this.#send({ type: 'ping' }),
      onHang: () => {
        log.warn({ pid: child.pid }, 'a media work process hangs and is ended')
        this.kill()
      },
    })
    this.#watch = setInterval(() => this.#watchMemory(settings.limits.processBytes), MEMORY_WATCH_MS)
    this.#watch.unref()
  }

  /** Once it takes jobs. */
  get pid(): number | undefined {
    return this.#ended || !this.#wasReady ? undefined : this.#child.pid
  }

  get alive(): boolean {
    return !this.#ended
  }

  /** Whether it got as far as taking jobs. */
  get wasReady(): boolean {
    return this.#wasReady
  }

  /** Whether it ended without taking a job with it. */
  get endedIdle(): boolean {
    return this.#endedIdle
  }

  /** @throws ProcessDiedError, or the MediaWorkError of the job */
  async run(task: Task, { scratch, signal, onProgress }: RunOptions): Promise<unknown> {
    await this.#ready.promise
    signal.throwIfAborted()
    const id = this.#nextId++
    const pending = Promise.withResolvers<unknown>()
    this.#jobs.set(id, { resolve: pending.resolve, reject: pending.reject, onProgress })
    let stop: NodeJS.Timeout | undefined
    const cancel = () => {
      const reason: unknown = signal.reason
      const { code, message } =
        reason instanceof MediaWorkError ? reason : { code: 'cancelled' as const, message: 'It was cancelled.' }
      this.#send({ type: 'cancel', id, code, message })
      stop = setTimeout(() => this.#giveUp(id, code, message), STOP_MS)
    }
    signal.addEventListener('abort', cancel, { once: true })
    this.#send({ type: 'run', id, task, scratch })
    try {
      return await pending.promise
    } finally {
      signal.removeEventListener('abort', cancel)
      clearTimeout(stop)
      this.#jobs.delete(id)
    }
  }

  /** Ends it and everything that it started, at once. */
  kill(): void {
    if (this.#ended || this.#child.pid === undefined) return
    killGroup(this.#child.pid)
    this.#child.kill('SIGKILL')
  }

  #giveUp(id: number, code: MediaWorkErrorCode, message: string): void {
    const job = this.#jobs.get(id)
    if (job !== undefined) job.verdict = new MediaWorkError(code, message)
    this.#log.warn({ pid: this.pid, code }, 'a media work process did not stop a job and is ended')
    this.kill()
  }

  #send(message: HostMessage): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  #onMessage(message: WorkMessage): void {
    this.#watchdog.heard()
    switch (message.type) {
      case 'pong':
        return
      case 'ready':
        this.#wasReady = true
        this.#ready.resolve()
        return
      case 'progress':
        this.#jobs.get(message.id)?.onProgress(message.progress)
        return
      case 'done':
        this.#jobs.get(message.id)?.resolve(message.result)
        return
      case 'failed':
        this.#jobs.get(message.id)?.reject(new MediaWorkError(message.code, message.message))
        return
      case 'log':
        this.#log[message.level](message.fields, message.message)
    }
  }

  #watchMemory(limit: number): void {
    if (this.#child.pid === undefined || this.#jobs.size === 0) return
    const bytes = residentBytes(this.#child.pid)
    if (bytes === undefined || bytes <= limit) return
    this.#memory = true
    this.#log.warn({ pid: this.#child.pid, bytes, limit }, 'a media work process took too much memory and is ended')
    this.kill()
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#ended = true
    this.#endedIdle = this.#wasReady && this.#jobs.size === 0
    clearInterval(this.#watch)
    this.#watchdog.stop()
    if (this.#child.pid !== undefined) killGroup(this.#child.pid)
    const error = new ProcessDiedError(
      `The media work process ended (${signal ?? `code ${code ?? 'unknown'}`}).`,
      this.#memory,
    )
    this.#ready.reject(error)
    for (const { reject, verdict } of this.#jobs.values()) reject(verdict ?? error)
  }
}

/** The group keeps its number as long as anything is in it, so this cannot meet a stranger. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // Nothing is left in it; or not a system with process groups, where the process itself is what can be ended.
    if (!['ESRCH', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
