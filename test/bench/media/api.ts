import { join } from 'node:path'
import type { MediaWork } from '../../../media/work/types.ts'
import { CrierProcess } from '../../support/crier-process.ts'
import { median } from '../support/process.ts'
import { latencyOf, type Latency } from './latency.ts'

export interface ApiOptions {
  readonly work: MediaWork
  /** The working folder, with the folders `out/0`, `out/1` and so on. */
  readonly folder: string
  readonly photograph: string
  readonly video: string
  readonly rounds: number
  readonly seconds: number
  /** The jobs that keep the lanes full. Thumbnails and transcodes by default. */
  readonly jobs?: (signal: AbortSignal) => readonly (() => Promise<unknown>)[]
}

export interface ApiRow {
  readonly request: string
  readonly idle: Latency
  readonly busy: Latency
  /** The median of the rounds' ratios of 99th percentiles. */
  readonly ratio: number
}

/** Measures the latency of Crier, alternately idle and with both lanes of media work full. @returns the thumbnails made meanwhile */
export async function compareApi(options: ApiOptions): Promise<{ rows: ApiRow[]; made: number }> {
  const { folder, rounds, seconds, work } = options
  const crier = await CrierProcess.start(folder, undefined, { CHECK_REPLIES: '0', RATE_LIMITS: '0' })
  try {
    const account = { email: 'bench@example.com', password: 'correct horse battery' }
    const apiKey: string = (await crier.send('POST /api/auth/signup', { body: account })).body.user.apiKey
    const otp = await crier.outbox.code(account.email)
    await crier.send('POST /api/auth/verify-otp', { body: { email: account.email, otp } })
    const body = { name: 'Bench', timezone: 'UTC' }
    const workspaceId: string = (await crier.send('POST /api/workspaces', { apiKey, body })).body.data._id
    const headers = { 'X-API-Key': apiKey }
    const requests = ['/api/health', `/api/assets?workspaceId=${workspaceId}&limit=20`]
    const measure = async (): Promise<Latency[]> => {
      const figures: Latency[] = []
      for (const path of requests) figures.push(await latencyOf({ url: crier.url + path, headers, seconds }))
      return figures
    }
    await measure()
    const idle: Latency[][] = []
    const busy: Latency[][] = []
    let made = 0
    for (let round = 0; round < rounds; round += 1) {
      idle.push(await measure())
      const before = work.stats().quick.done
      const relax = saturate(options)
      busy.push(await measure())
      await relax()
      made += work.stats().quick.done - before
    }
    const rows = requests.map((path, at) => {
      const pairs = idle.flatMap((figures, round) => {
        const [one, other] = [figures[at], busy[round]?.[at]]
        return one && other ? [[one, other] as const] : []
      })
      const of = (side: 0 | 1): Latency => ({
        p50Ms: median(pairs.map((pair) => pair[side].p50Ms)),
        p99Ms: median(pairs.map((pair) => pair[side].p99Ms)),
        lateMs: median(pairs.map((pair) => pair[side].lateMs)),
      })
      const ratio = median(pairs.map(([one, other]) => other.p99Ms / one.p99Ms))
      return { request: `GET ${path.split('?')[0] ?? path}`, idle: of(0), busy: of(1), ratio }
    })
    return { rows, made }
  } finally {
    await crier.stop()
  }
}

/** Keeps both lanes full until it is stopped. */
function saturate(options: ApiOptions): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const keepOn = async (job: () => Promise<unknown>) => {
    while (!signal.aborted) {
      await job().catch((error: unknown) => {
        // Failing jobs would leave a lane empty.
        if (!signal.aborted) throw error
      })
    }
  }
  const jobs = (options.jobs?.(signal) ?? usualJobs(options, signal)).map(keepOn)
  return async () => {
    stop.abort()
    await Promise.all(jobs)
  }
}

function usualJobs({ folder, photograph, video, work }: ApiOptions, signal: AbortSignal): (() => Promise<unknown>)[] {
  const sizes = [{ name: 'large', edge: 1280 }]
  const { quick, long } = work.stats()
  return [
    ...Array.from({ length: quick.concurrency * 2 }, (_, index) => () => {
      return work.thumbnails(photograph, join(folder, 'out', String(index)), { sizes, signal })
    }),
    ...Array.from({ length: long.concurrency * 2 }, (_, index) => () => {
      return work.transcode(video, join(folder, `saturated-${index}`), { kind: 'video' }, { signal })
    }),
  ]
}
