import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Clock ticks per second of `/proc/<pid>/stat` (sysconf _SC_CLK_TCK; 100 on every Linux that Node runs on). */
const TICKS = 100

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a Node program and waits for a line of its standard output. Keeps its standard error for error messages. */
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

/** The CPU seconds of a process, user and system. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/**
 * The CPU seconds of the threads of a process, user and system, by the scheduler's clock. Its unit is nanoseconds, where
 * {@link cpuSeconds} counts ticks, which suits programs that use less than a tick at a time.
 */
export function scheduledSeconds(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]) / 1e9)
    .reduce((sum, seconds) => sum + seconds, 0)
}

/** The memory of a process in bytes, with shared pages divided among their processes (PSS). */
export function proportionalBytes(pid: number): number {
  const line = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))
  return Number(line?.[1] ?? 0) * 1024
}

/** The resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
  return Number(line?.[1] ?? 0) * 1024
}

/** The ids of a process and its descendants. */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ')[1]?.split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      // The process has exited meanwhile.
    }
  }
  const all = [pid]
  for (const one of all) all.push(...(children.get(one) ?? []))
  return all
}

/** A description of the machine for RESULTS.md. */
export function machine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor'
  return `${cpus().length} × ${model}, Node ${process.version}, Linux ${readFileSync('/proc/sys/kernel/osrelease', 'latin1').trim()}`
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
