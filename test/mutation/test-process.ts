import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunReply, RunRequest } from './runner.ts'

/** The process in which tests run. It is started on first use, and again after a mutant that looped forever. */
export class TestProcess {
  readonly #folder: string
  readonly #scratch: string
  #running: Promise<ChildProcess> | undefined
  #changed: string[] = []
  /** Why the last run failed. */
  why = ''

  constructor(folder: string, scratch: string) {
    this.#folder = folder
    this.#scratch = scratch
  }

  /** @returns the first test file that failed; `timeout` after `limitMs`; undefined when all passed */
  async run(request: RunRequest, limitMs: number): Promise<string | undefined> {
    this.#running ??= this.#start()
    const child = await this.#running
    const over = new AbortController()
    child.send({ ...request, changed: [...this.#changed, ...request.changed] } satisfies RunRequest)
    this.#changed = []
    try {
      return await Promise.race([
        once(child, 'message', { signal: over.signal }).then(([reply]) => {
          const { broken, failed, why } = reply as RunReply
          if (broken !== undefined) throw new Error(broken)
          this.why = why ?? ''
          return failed
        }),
        once(child, 'exit', { signal: over.signal }).then(() => 'timeout'),
        delay(limitMs, 'timeout', { signal: over.signal }),
      ])
    } finally {
      over.abort()
    }
  }

  /** Records that a file has changed since the last run. */
  changed(file: string): void {
    this.#changed.push(file)
  }

  /** Kills the process and everything that it started. */
  async stop(): Promise<void> {
    const child = await this.#running
    this.#running = undefined
    this.#changed = []
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    process.kill(-child.pid, 'SIGKILL')
    await ended
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(join(this.#folder, 'test/mutation/runner.ts'), {
      cwd: this.#folder,
      // A separate process group, so that it can be killed as a whole.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, TMPDIR: this.#scratch },
    })
    await once(child, 'message')
    return child
  }
}
