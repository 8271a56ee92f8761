import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaLog } from '../types.ts'
import { MediaWorkError } from './errors.ts'
import { PriorityQueue } from './priority-queue.ts'
import { removeOutputs } from './outputs.ts'
import type { Task, WorkSettings } from './process/protocol.ts'
import { ProcessDiedError, WorkProcess } from './process/work-process.ts'
import type { HostileFiles } from './hostile-files.ts'
import type { LaneStats, ProgressOptions } from './types.ts'

export interface LaneOptions {
  readonly name: string
  readonly concurrency: number
  readonly queueLimit: number
  /** Time limit of a job, from its start. */
  readonly seconds: number
  readonly settings: WorkSettings
  readonly hostileFiles: HostileFiles
  readonly log: MediaLog
}

interface Job {
  readonly task: Task
  readonly signal: AbortSignal | undefined
  readonly onProgress: NonNullable<ProgressOptions['onProgress']>
  readonly queuedAt: number
  readonly result: PromiseWithResolvers<unknown>
}

/** The jobs of one kind: a bounded queue with limited concurrency, and a process that runs while there are jobs. */
export class Lane {
  readonly #options: LaneOptions
  readonly #queue = new PriorityQueue<Job>()
  readonly #processes = new Set<WorkProcess>()
  readonly #closing = new AbortController()
  readonly #counts = { done: 0, failed: 0, cancelled: 0, refused: 0, deaths: 0, waitedMs: 0, workedMs: 0 }
  #shared: WorkProcess | undefined
  #idle: NodeJS.Timeout | undefined
  #running = 0
  #nextScratch = 1

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** @throws MediaWorkError */
  async run(task: Task, { signal, priority = 0, onProgress = () => {} }: ProgressOptions): Promise<unknown> {
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason
    if (signal?.aborted === true) throw cancelled()
    if (this.#queue.size >= this.#options.queueLimit) {
      this.#counts.refused += 1
      throw new MediaWorkError('busy', `${this.#queue.size} files are already queued. Try again later.`)
    }
    const job: Job = { task, signal, onProgress, queuedAt: performance.now(), result: Promise.withResolvers<unknown>() }
    const dequeue = this.#queue.add(job, priority)
    const cancel = () => {
      if (!dequeue()) return
      this.#counts.cancelled += 1
      job.result.reject(cancelled())
    }
    signal?.addEventListener('abort', cancel, { once: true })
    this.#fill()
    try {
      return await job.result.promise
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  stats(): LaneStats {
    const { waitedMs, workedMs, ...counts } = this.#counts
    return {
      queued: this.#queue.size,
      running: this.#running,
      concurrency: this.#options.concurrency,
      queueLimit: this.#options.queueLimit,
      ...counts,
      waitedSeconds: waitedMs / 1000,
      workedSeconds: workedMs / 1000,
      pids: [...this.#processes].flatMap(({ pid }) => pid ?? []),
    }
  }

  async close(): Promise<void> {
    const reason = new MediaWorkError('unavailable', 'Media work is closing.')
    this.#closing.abort(reason)
    clearTimeout(this.#idle)
    for (let job = this.#queue.take(); job !== undefined; job = this.#queue.take()) job.result.reject(reason)
    const processes = [...this.#processes]
    for (const process of processes) process.kill()
    await Promise.all(processes.map(({ ended }) => ended))
  }

  #fill(): void {
    while (this.#running < this.#options.concurrency) {
      const job = this.#queue.take()
      if (job === undefined) break
      clearTimeout(this.#idle)
      this.#running += 1
      void this.#execute(job)
    }
  }

  async #execute(job: Job): Promise<void> {
    const startedAt = performance.now()
    this.#counts.waitedMs += startedAt - job.queuedAt
    const timeout = new AbortController()
    const { seconds } = this.#options
    const timer = setTimeout(() => timeout.abort(timedOut(seconds)), seconds * 1000)
    const signal = AbortSignal.any([timeout.signal, this.#closing.signal, ...(job.signal ? [job.signal] : [])])
    try {
      await this.#options.hostileFiles.check(job.task.path)
      const result = await this.#attempt(job, signal)
      this.#counts.done += 1
      job.result.resolve(result)
    } catch (error) {
      const failure = job.signal?.aborted === true ? cancelled() : error
      const code = failure instanceof MediaWorkError ? failure.code : 'failed'
      this.#counts[code === 'cancelled' ? 'cancelled' : 'failed'] += 1
      job.result.reject(failure)
    } finally {
      clearTimeout(timer)
      this.#counts.workedMs += performance.now() - startedAt
      this.#running -= 1
      this.#fill()
      this.#endIfIdle()
    }
  }

  /**
   * Runs a job in the shared process first. If that dies, it is unknown which file caused it, so each of its jobs is retried
   * in a separate process. If that process dies too, the file is hostile.
   */
  async #attempt(job: Job, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#runIn(this.#sharedProcess(), job, signal)
    } catch (error) {
      if (!(error instanceof ProcessDiedError)) throw error
      this.#options.log.warn(
        { lane: this.#options.name, reason: error.message },
        'a media work job is retried in a separate process',
      )
      signal.throwIfAborted()
    }
    const own = this.#start()
    try {
      return await this.#runIn(own, job, signal)
    } catch (error) {
      if (!(error instanceof ProcessDiedError)) throw error
      signal.throwIfAborted()
      if (error.memory) throw new MediaWorkError('memory_limit', 'The file needs more memory than the limit.')
      if (!own.wasReady) throw new MediaWorkError('worker_died', 'The process for media work could not be started.')
      await this.#options.hostileFiles.add(job.task.path)
      throw new MediaWorkError('hostile', 'The file crashes every process that opens it.')
    } finally {
      own.kill()
    }
  }

  async #runIn(process: WorkProcess, { task, onProgress }: Job, signal: AbortSignal): Promise<unknown> {
    const scratch = join(this.#options.settings.scratchRoot, String(this.#nextScratch++))
    try {
      return await process.run(task, { scratch, signal, onProgress })
    } catch (error) {
      if (error instanceof ProcessDiedError || !process.alive) await this.#clean(scratch, task)
      throw error
    }
  }

  /** Deletes the files that a dead process may have left. */
  async #clean(scratch: string, task: Task): Promise<void> {
    await rm(scratch, { recursive: true, force: true })
    await removeOutputs(task)
  }

  #sharedProcess(): WorkProcess {
    if (this.#shared?.alive !== true) this.#shared = this.#start()
    return this.#shared
  }

  #start(): WorkProcess {
    const started = new WorkProcess(this.#options.settings, this.#options.log)
    this.#processes.add(started)
    void this.#forget(started)
    return started
  }

  async #forget(process: WorkProcess): Promise<void> {
    await process.ended
    this.#processes.delete(process)
    if (!process.endedIdle && !this.#closing.signal.aborted) this.#counts.deaths += 1
  }

  #endIfIdle(): void {
    if (this.#running > 0 || this.#closing.signal.aborted) return
    this.#idle = setTimeout(() => {
      this.#shared?.kill()
      this.#shared = undefined
    }, this.#options.settings.limits.idleSeconds * 1000)
    this.#idle.unref()
  }
}

function cancelled(): MediaWorkError {
  return new MediaWorkError('cancelled', 'The job was cancelled.')
}

function timedOut(seconds: number): MediaWorkError {
  return new MediaWorkError('timed_out', `The job took longer than ${seconds} s.`)
}
