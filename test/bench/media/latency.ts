import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface LoadJob {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly seconds: number
}

export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
  /** 99th percentile of how late requests left, which is the generator's own delay and no part of the others. */
  readonly lateMs: number
}

const GENERATOR = fileURLToPath(new URL('load-generator.ts', import.meta.url))

/** What 200 requests a second wait for their answers, from when each has left. */
export async function latencyOf(job: LoadJob): Promise<Latency> {
  const generator = fork(GENERATOR, [JSON.stringify(job)])
  const ended = once(generator, 'exit').then(([code]) => {
    throw new Error(`the load generator ended with ${code}`)
  })
  const [figures] = (await Promise.race([once(generator, 'message'), ended])) as [Latency]
  ended.catch(() => {})
  return figures
}
