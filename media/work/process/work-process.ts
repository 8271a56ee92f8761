import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { MediaLog } from '../../types.ts'
import { Watchdog } from '../../watchdog.ts'
import { MediaWorkError, type MediaWorkErrorCode } from '../errors.ts'
import type { Progress } from '../types.ts'
import { residentBytes } from './memory.ts'
import type { HostMessage, Task, WorkMessage, WorkSettings } from './protocol.ts'

/** The process died while it ran a job. */
export class ProcessDiedError extends Error {
  override readonly name = 'ProcessDiedError'
  /** Whether the host killed it because it used too much memory. */
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
  /** The error of the job that made the host kill the process. */
  failure?: MediaWorkError
}

const ENTRY = fileURLToPath(new URL('main.ts', import.meta.url))
/** Time limit of a start. It takes half a second of CPU time, and much longer on a busy machine. */
const START_SECONDS = 120
/** How long a cancelled job may take to stop. After that the process is killed, and its other jobs are restarted. */
const STOP_MS = 5_000
const MEMORY_CHECK_MS = 250
/** The process has the lowest priority, so its event loop may be delayed for long. */
const HANG_SECONDS = 60

/**
 * A work process, as its host sees it. It leads a process group that includes every ffmpeg it starts. When it ends for any
 * reason, the whole group is killed.
 */
export class WorkProcess {
  readonly ended: Promise<void>
  readonly #child: ChildProcess
  readonly #log: MediaLog
  readonly #jobs = new Map<number, Pending>()
  readonly #ready = Promise.withResolvers<void>()
  readonly #memoryCheck: NodeJS.Timeout
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
        log.error({ error }, 'a media work process cannot be started or reached')
        if (child.pid === undefined) {
          this.#onExit(null, null)
          resolve()
        }
      })
    })
    child.on('message', (message) => this.#onMessage(message as WorkMessage))
    this.#send({ type: 'start', settings })
    // `run` reports this error. Without a caller it must not be an unhandled rejection.
    this.#ready.promise.catch(() => {})
    this.#watchdog = new Watchdog({
      limits: {
        intervalMs: 1_000,
        unresponsiveAfter: HANG_SECONDS,
        killAfter: HANG_SECONDS,
        startWithin: START_SECONDS,
      },
      ping: () => this.#send({ type: 'ping' }),
      onHang: () => {
        log.warn({ pid: child.pid }, 'a media work process does not respond and is killed')
        this.kill()
      },
    })
    this.#memoryCheck = setInterval(() => this.#checkMemory(settings.limits.processBytes), MEMORY_CHECK_MS)
    this.#memoryCheck.unref()
  }

  /** Undefined before it is ready and after it has ended. */
  get pid(): number | undefined {
    return this.#ended || !this.#wasReady ? undefined : this.#child.pid
  }

  get alive(): boolean {
    return !this.#ended
  }

  /** Whether it has ever been ready for jobs. */
  get wasReady(): boolean {
    return this.#wasReady
  }

  /** Whether it ended while no job was running. */
  get endedIdle(): boolean {
    return this.#endedIdle
  }

  /** Runs a job. @throws ProcessDiedError, or the MediaWorkError of the job */
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
        reason instanceof MediaWorkError ? reason : { code: 'cancelled' as const, message: 'The job was cancelled.' }
      this.#send({ type: 'cancel', id, code, message })
      stop = setTimeout(() => this.#killUnresponsive(id, code, message), STOP_MS)
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

  /** Kills the process and everything it has started. */
  kill(): void {
    if (this.#ended || this.#child.pid === undefined) return
    killGroup(this.#child.pid)
    this.#child.kill('SIGKILL')
  }

  #killUnresponsive(id: number, code: MediaWorkErrorCode, message: string): void {
    const job = this.#jobs.get(id)
    if (job !== undefined) job.failure = new MediaWorkError(code, message)
    this.#log.warn({ pid: this.pid, code }, 'a media work process did not stop a cancelled job and is killed')
    this.kill()
  }

  #send(message: HostMessage): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  #onMessage(message: WorkMessage): void {
    this.#watchdog.noteMessage()
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

  #checkMemory(limit: number): void {
    if (this.#child.pid === undefined || this.#jobs.size === 0) return
    const bytes = residentBytes(this.#child.pid)
    if (bytes === undefined || bytes <= limit) return
    this.#memory = true
    this.#log.warn({ pid: this.#child.pid, bytes, limit }, 'a media work process used too much memory and is killed')
    this.kill()
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#ended = true
    this.#endedIdle = this.#wasReady && this.#jobs.size === 0
    clearInterval(this.#memoryCheck)
    this.#watchdog.stop()
    if (this.#child.pid !== undefined) killGroup(this.#child.pid)
    const error = new ProcessDiedError(
      `The media work process ended (${signal ?? `code ${code ?? 'unknown'}`}).`,
      this.#memory,
    )
    this.#ready.reject(error)
    for (const { reject, failure } of this.#jobs.values()) reject(failure ?? error)
  }
}

/** Kills a process group. Its id is not reused while the group has members, so no other process is hit. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // The group is empty, or the system has no process groups and only the process itself can be killed.
    if (!['ESRCH', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
