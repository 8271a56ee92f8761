import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly body?: string
}

export interface LoadResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Replies with a status other than 2xx or 3xx, and requests without a reply. */
  readonly failed: number
}

/** Runs wrk (Debian package `wrk`) with one thread. @throws Error when wrk is missing */
export async function wrk(load: Load): Promise<LoadResult> {
  const args = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '--latency', '--timeout', '10s']
  for (const [name, value] of Object.entries(load.headers ?? {})) args.push('-H', `${name}: ${value}`)
  let folder: string | undefined
  if (load.method !== undefined) {
    folder = mkdtempSync(join(tmpdir(), 'crier-wrk-'))
    const script = join(folder, 'request.lua')
    writeFileSync(script, `wrk.method = ${JSON.stringify(load.method)}\nwrk.body = [==[${load.body ?? ''}]==]\n`)
    args.push('-s', script)
  }
  let text: string
  try {
    text = (await promisify(execFile)('wrk', [...args, load.url])).stdout
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Error('benchmarks need wrk: apt-get install wrk', { cause: error })
    throw error
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true })
  }
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0)
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)
  return {
    requests: number(/(\d+) requests in/),
    perSecond: number(/Requests\/sec:\s+([\d.]+)/),
    p50Ms: percentile(text, 50),
    p99Ms: percentile(text, 99),
    failed: number(/Non-2xx or 3xx responses: (\d+)/) + (errors?.slice(1).reduce((sum, n) => sum + Number(n), 0) ?? 0),
  }
}

/**
 * A line of wrk's latency distribution, `     50%    5.50ms`. The share of requests within one standard deviation, such
 * as `87.50%`, ends in the same characters, so the line is matched whole.
 * @throws Error when wrk printed no such line
 */
function percentile(text: string, percent: number): number {
  const found = new RegExp(`^\\s+${percent}%\\s+(\\S+) *$`, 'm').exec(text)?.[1]
  if (found === undefined) throw new Error(`wrk printed no ${percent}th percentile:\n${text}`)
  return milliseconds(found)
}

function milliseconds(text: string): number {
  const value = Number.parseFloat(text)
  if (text.endsWith('us')) return value / 1000
  return text.endsWith('ms') ? value : value * 1000
}
