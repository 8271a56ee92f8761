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
  /** The 99th percentile of how late requests were sent: the generator's own delay, not part of the other figures. */
  readonly lateMs: number
}

const GENERATOR = fileURLToPath(new URL('load-generator.ts', import.meta.url))

/** The response times at 200 requests per second, each from when the request was sent. */
export async function latencyOf(job: LoadJob): Promise<Latency> {
  const generator = fork(GENERATOR, [JSON.stringify(job)])
  const ended = once(generator, 'exit').then(([code]) => {
    throw new Error(`the load generator ended with ${code}`)
  })
  const [figures] = (await Promise.race([once(generator, 'message'), ended])) as [Latency]
  ended.catch(() => {})
  return figures
}
