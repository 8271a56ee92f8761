import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { DataDirectory } from './data-directory.ts'
import { freeLoopbackPort } from './free-port.ts'
import type { Log } from './log.ts'
import { processIdentity } from './process-identity.ts'
import { supervise } from './supervise.ts'
import type { Launched, Supervised } from './supervise.ts'
import { commandLine, ownLauncher } from './unprivileged.ts'

export interface PrivateRedisOptions {
  /** Its folder contains `redis`, and its secrets the password. It must stay open until `stop`. */
  dataDirectory: Pick<DataDirectory, 'path' | 'secret'>
  /** Absolute path of a redis-server, 6.2 or newer. */
  binary: string
  log: Log
}

/** A running private Redis, on this machine only. */
export interface PrivateRedis {
  /** With password. It stays the same when the server restarts. */
  url: string
  stop(): Promise<void>
}

/**
 * @param path the environment variable PATH
 * @returns the absolute path of the first redis-server (or valkey-server) on it
 */
export function findRedisServer(path: string): string | undefined {
  const candidates = ['redis-server', 'valkey-server'].flatMap((name) =>
    path.split(delimiter).map((folder) => join(folder, name)),
  )
  return candidates.find((file) => file.startsWith('/') && isProgram(file))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

const READY = /ready to accept connections/i
const PORT_TAKEN = /Address already in use|Failed listening/i

/**
 * Starts a Redis that stores nothing on disk, because none of its data is needed after a restart. It listens on
 * 127.0.0.1 only, requires a random password, and ends when Crier does. If it dies, it restarts empty on the same port.
 *
 * @throws {Error} with the server's own message, when it cannot be started
 */
export async function startPrivateRedis({ dataDirectory, binary, log }: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = join(dataDirectory.path, 'redis')
  const password = dataDirectory.secret('redis-password')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const record = join(folder, 'process.json')

  const launchOn = (port: number) => async (): Promise<Launched> => {
    await endLeftover(record, log)
    const [command, args] = commandLine(ownLauncher('TERM'), binary, ['-'])
    // In a separate session, so that Ctrl-C in the terminal only reaches Crier, which stops the server last.
    const child = spawn(command, args, { cwd: folder, env: { LC_ALL: 'C' }, detached: true, stdio: 'pipe' })
    // The configuration goes to standard input, because other users of the machine could read a password on the command
    // line.
    child.stdin.on('error', () => undefined).end(configuration(folder, port, password))
    if (child.pid !== undefined) {
      writeFileSync(record, JSON.stringify({ pid: child.pid, identity: processIdentity(child.pid) }), { mode: 0o600 })
    }
    return { child, ready: untilReady(child, log) }
  }

  for (let attempt = 1; ; attempt++) {
    const port = await freeLoopbackPort()
    try {
      const server: Supervised = await supervise({
        name: 'Redis',
        launch: launchOn(port),
        stopSignals: [
          ['SIGTERM', 3_000],
          ['SIGKILL', 3_000],
        ],
        log,
      })
      return {
        url: `redis://:${password}@127.0.0.1:${port}`,
        stop: async () => {
          await server.stop()
          rmSync(record, { force: true })
        },
      }
    } catch (error) {
      if (attempt === 5 || !PORT_TAKEN.test((error as Error).message)) throw error
    }
  }
}

/** hz: Redis checks the timeouts of blocked clients at this rate, so that delayed work is on time to 10 ms. */
function configuration(folder: string, port: number, password: string): string {
  return `bind 127.0.0.1
port ${port}
requirepass ${password}
dir "${folder.replace(/["\\]/g, '\\$&')}"
daemonize no
logfile ""
loglevel notice
save ""
appendonly no
maxmemory-policy noeviction
hz 100
`
}

async function untilReady(child: ChildProcess, log: Log): Promise<void> {
  const { stdout } = child
  if (stdout === null) throw new Error('standard output is not a pipe')
  child.stderr?.resume()
  const last: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      // The format is `pid:role date time.ms # text`, where # marks a warning (also used for the startup banner).
      const [, mark, text = ''] = /^\d+:\w .*? ([.\-*#]) (.*)$/.exec(line) ?? []
      if (mark === undefined) return
      log[mark === '#' && !/oO0OoO0Oo|Redis version|Configuration loaded/.test(text) ? 'info' : 'debug'](
        {},
        `redis: ${text}`,
      )
      last.push(text)
      if (last.length > 5) last.shift()
      if (READY.test(text)) resolve()
    })
    child.once('error', reject)
    child.once('close', (code, signal) =>
      reject(new Error(`Redis did not start (${signal ?? `exit code ${code}`}): ${last.join(' | ')}`)),
    )
    setTimeout(() => reject(new Error('Redis was not ready after 10 s')), 10_000).unref()
  })
}

/** Ends the Redis of a killed Crier, on systems where the kernel does not do it. */
async function endLeftover(record: string, log: Log): Promise<void> {
  const { pid, identity } = readRecord(record)
  if (pid === undefined || identity === undefined || processIdentity(pid) !== identity) return
  log.warn({ pid }, 'ending the Redis that a killed Crier left behind')
  // It has no data to save.
  process.kill(pid, 'SIGKILL')
  for (let waited = 0; waited < 3_000 && processIdentity(pid) === identity; waited += 10) await delay(10)
}

function readRecord(record: string): { pid?: number; identity?: string } {
  try {
    return JSON.parse(readFileSync(record, 'utf8')) as { pid?: number; identity?: string }
  } catch {
    // There is no record, or a crash left it incomplete. The kernel has ended the process, or it is idle on an unused
    // port.
    return {}
  }
}
