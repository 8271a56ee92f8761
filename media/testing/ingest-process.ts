import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { MEMORY_FLAGS } from '../process/host.ts'
import type { ChildRequest } from './ingest-child.ts'

/** An ingest in a child process. `output` returns everything that it printed. */
export interface IngestProcess {
  readonly port: number
  readonly child: ChildProcess
  output(): string
  ask<T>(request: ChildRequest): Promise<T>
  stop(): void
}

/** Starts an ingest in a child process with the working folder `cwd`. */
export async function startIngestProcess(cwd: string): Promise<IngestProcess> {
  const child = fork(new URL('ingest-child.ts', import.meta.url), {
    cwd,
    execArgv: ['--expose-gc', ...MEMORY_FLAGS],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const [hello] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`ingest did not start: ${printed}`))),
  ])) as [{ port: number }]
  return {
    port: hello.port,
    child,
    output: () => printed,
    async ask<T>(request: ChildRequest) {
      child.send(request)
      const [message] = (await once(child, 'message')) as [{ reply: T }]
      return message.reply
    },
    stop: () => child.kill('SIGKILL'),
  }
}
