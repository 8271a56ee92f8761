import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Clock ticks a second of `/proc/<pid>/stat` (sysconf _SC_CLK_TCK; 100 on every Linux that Node runs on). */
const TICKS = 100

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a Node program and waits for a line of its standard output. Its standard error is kept for a failure. */
export function start(
  args: readonly string[],
  ready: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  return new Promise((resolve, reject) => {
    const note = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000)
    }
    child.stderr.on('data', note)
    child.stdout.on('data', (chunk: Buffer) => {
      note(chunk)
      if (ready.test(output)) resolve({ child, pid: child.pid as number, stop: () => stop(child) })
    })
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}:\n${output}`)))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  await gone
}

/** CPU seconds that a process has used, user and system. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/**
 * CPU seconds that the threads of a process have used, user and system, by the scheduler's own clock: nanoseconds where
 * {@link cpuSeconds} counts ticks, for programs that use less than a tick at a time.
 */
export function scheduledSeconds(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]) / 1e9)
    .reduce((sum, seconds) => sum + seconds, 0)
}

/** Memory of a process with shared pages divided among those who share them (PSS), bytes. */
export function proportionalBytes(pid: number): number {
  const line = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))
  return Number(line?.[1] ?? 0) * 1024
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
  return Number(line?.[1] ?? 0) * 1024
}

/** A process and its children, theirs too. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ')[1]?.split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      // It ended while we looked.
    }
  }
  const all = [pid]
  for (const one of all) all.push(...(children.get(one) ?? []))
  return all
}

/** The machine, in words for RESULTS.md. */
export function machine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor'
  return `${cpus().length} × ${model}, Node ${process.version}, Linux ${readFileSync('/proc/sys/kernel/osrelease', 'latin1').trim()}`
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
