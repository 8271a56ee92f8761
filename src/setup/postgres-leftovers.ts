import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './log.ts'
import { processCommand, processIdentity } from './process-identity.ts'

/**
 * Cleans up before a new server starts, after Crier or a server was killed. Only the holder of the data folder's lock
 * may call it, because then all PostgreSQL processes in the cluster are orphans.
 *
 * An orphaned server is stopped, not reused: its output is lost, its port and settings may be outdated, and its
 * sessions still hold the locks of the killed process. A restart takes 0.1 s.
 */
export async function clearLeftovers(cluster: string, log: Log): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid')
  const pid = Number(readLines(pidFile)[0])
  if (pid > 0 && processIdentity(pid) !== undefined && serves(pid, cluster)) {
    log.warn({ pid }, 'stopping the PostgreSQL server that a killed Crier left behind')
    await end([pid], ['SIGINT', 'SIGQUIT', 'SIGKILL'])
  }
  disown(pidFile)
  const sessions = processesIn(cluster)
  if (sessions.length > 0) {
    log.warn({ pids: sessions }, 'ending the sessions that a killed PostgreSQL server left behind')
    await end(sessions, ['SIGQUIT', 'SIGKILL'])
  }
}

/**
 * PostgreSQL does not start while the pid in its pid file exists. After a kill, that can be an unrelated process or a
 * zombie. PostgreSQL knows that its own parent is not a server, so we write the parent's pid: PostgreSQL then still
 * checks the rest of the file for sessions that use the cluster.
 */
function disown(pidFile: string): void {
  const [pid, ...rest] = readLines(pidFile)
  if (pid === undefined) return
  // A full disk or a power failure left it empty, and PostgreSQL refuses to start with an empty file.
  if (pid === '') rmSync(pidFile)
  else writeFileSync(pidFile, [process.pid, ...rest].join('\n'))
}

function readLines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
}

/** A server is started with `-D cluster`, and its process title never changes. */
function serves(pid: number, cluster: string): boolean {
  const command = processCommand(pid) ?? ''
  return command.includes('postgres') && command.includes(`-D ${cluster} `)
}

/** Every PostgreSQL process has its cluster as working directory. Empty on systems without /proc. */
function processesIn(cluster: string): number[] {
  if (!existsSync('/proc/self/cwd')) return []
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && workingFolder(pid) === cluster && processCommand(pid)?.includes('postgres'))
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // The process has ended or belongs to another user. Neither is a session of this cluster.
    return undefined
  }
}

const PATIENCE_MS = 5_000

async function end(pids: number[], signals: NodeJS.Signals[]): Promise<void> {
  let running = pids.map((pid) => ({ pid, identity: processIdentity(pid) }))
  for (const signal of signals) {
    for (const { pid } of running) kill(pid, signal)
    for (let waited = 0; waited < PATIENCE_MS; waited += 10) {
      running = running.filter(({ pid, identity }) => identity !== undefined && processIdentity(pid) === identity)
      if (running.length === 0) return
      await delay(10)
    }
  }
  throw new Error(
    `PostgreSQL processes of an earlier run could not be ended: ${running.map(({ pid }) => pid).join(', ')}`,
  )
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
