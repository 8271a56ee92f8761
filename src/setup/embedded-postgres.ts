import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { DataDirectory } from './data-directory.ts'
import { freeLoopbackPort } from './free-port.ts'
import type { Log } from './log.ts'
import { DATABASE, FAST_SHUTDOWN, POSTGRES_ENV, prepareCluster, USER } from './postgres-cluster.ts'
import { clearLeftovers } from './postgres-leftovers.ts'
import { logPostgresLine, POSTGRES_LOG_SETTINGS } from './postgres-log.ts'
import { findPostgresPrograms } from './postgres-programs.ts'
import { supervise } from './supervise.ts'
import type { Launched, Supervised } from './supervise.ts'
import { commandLine } from './unprivileged.ts'

export interface EmbeddedPostgresOptions {
  /** The cluster is in its folder `postgres`, the password in its secrets. It must stay open until `stop`. */
  dataDirectory: Pick<DataDirectory, 'path' | 'secret'>
  log: Log
  /** false disables forced writes to disk. It is faster and unsafe, for tests only. */
  durable?: boolean
}

/** A running embedded PostgreSQL. */
export interface EmbeddedPostgres {
  /** With user, password and database. It stays the same when the server restarts. */
  url: string
  /** For example 18.4. */
  version: string
  /** Ends sessions and the server: gracefully for at most 5 s, then by force (the next start recovers from the log). */
  stop(): Promise<void>
}

const READY = 'database system is ready to accept connections'

/** Start failures that are retried within this time: a port in use, or sessions that are still ending. */
const PASSING = /could not bind|could not create any TCP\/IP sockets|still in use/
const PASSING_MS = 10_000

const STOP_SIGNALS = [
  [FAST_SHUTDOWN, 5_000],
  ['SIGQUIT', 3_000],
  ['SIGKILL', 3_000],
] as const

/** Recovery after a crash replays at most max_wal_size, which takes far less than this even on a slow disk. */
const RECOVERY_MS = 300_000

/**
 * Starts the PostgreSQL that npm installed, on the cluster in the data folder. Creates the cluster if there is none.
 * The server listens on 127.0.0.1 only, on a port that is chosen on each call, and requires a random password. If it
 * dies, it restarts on the same port; connections are refused in the meantime.
 *
 * @throws {Error} with instructions, when this system has no such PostgreSQL or it cannot be started
 */
export async function startEmbeddedPostgres({
  dataDirectory,
  log,
  durable = true,
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const programs = await findPostgresPrograms()
  const password = dataDirectory.secret('postgres-password')
  const cluster = await prepareCluster({ parent: dataDirectory.path, programs, password, durable })

  const launchOn = (port: number) => async (): Promise<Launched> => {
    await clearLeftovers(cluster.folder, log)
    const [command, args] = commandLine(cluster.launcher, programs.postgres, [
      '-D',
      cluster.folder,
      ...serverSettings(port, durable).flatMap((setting) => ['-c', setting]),
    ])
    // In a separate session, so that Ctrl-C in the terminal only reaches Crier, which stops the server last.
    const child = spawn(command, args, {
      ...cluster.launcher.user,
      cwd: '/',
      // The server resolves symbols once, instead of every process that it forks for a connection.
      env: { ...POSTGRES_ENV, LD_BIND_NOW: '1' },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return { child, ready: untilReady(child, log) }
  }

  const { server, port } = await startPatiently((port) =>
    supervise({ name: 'PostgreSQL', launch: launchOn(port), stopSignals: STOP_SIGNALS, log }),
  )
  return {
    url: `postgresql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    version: programs.version,
    stop: () => server.stop(),
  }
}

/** Nothing is forced to disk, and the log only serves recovery. */
const UNSAFE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
}

function serverSettings(port: number, durable: boolean): string[] {
  return Object.entries({
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    ...POSTGRES_LOG_SETTINGS,
    ...(!durable && UNSAFE),
  }).map(([name, value]) => `${name}=${value}`)
}

async function startPatiently(
  start: (port: number) => Promise<Supervised>,
): Promise<{ server: Supervised; port: number }> {
  const deadline = performance.now() + PASSING_MS
  for (;;) {
    const port = await freeLoopbackPort()
    try {
      return { server: await start(port), port }
    } catch (error) {
      if (!PASSING.test((error as Error).message) || performance.now() > deadline) throw error
      await delay(200)
    }
  }
}

/** Reads the server's standard error for as long as it runs. */
async function untilReady(child: ChildProcess, log: Log): Promise<void> {
  const last: string[] = []
  const { stderr } = child
  if (stderr === null) throw new Error('standard error is not a pipe')
  const outcome = new Promise<void>((resolve, reject) => {
    createInterface({ input: stderr }).on('line', (line) => {
      logPostgresLine(log, line)
      last.push(line)
      if (last.length > 10) last.shift()
      if (line.endsWith(READY)) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      // Its last output may not have arrived yet. If it was killed, its children keep the pipe open.
      void Promise.race([once(child, 'close'), delay(500, undefined, { ref: false })]).then(() =>
        reject(new Error(`PostgreSQL did not start (${signal ?? `exit code ${code}`}): ${last.join(' | ')}`)),
      )
    })
    setTimeout(() => reject(new Error(`PostgreSQL was not ready after ${RECOVERY_MS / 1000} s`)), RECOVERY_MS).unref()
  })
  await outcome
}
