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
  /** Its folder is `redis` in there, its password in the secrets. It must stay open until `stop`. */
  dataDirectory: Pick<DataDirectory, 'path' | 'secret'>
  /** Absolute path of a redis-server, 6.2 or newer. */
  binary: string
  log: Log
}

/** A running Redis of our own, on this machine alone. */
export interface PrivateRedis {
  /** With password; the same for as long as it runs, also after it had to be started again. */
  url: string
  stop(): Promise<void>
}

/**
 * @param path what the environment variable PATH says
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
 * Starts a Redis that keeps nothing on disk, because nothing in it is needed after a restart. It listens on 127.0.0.1
 * alone, asks for a random password, and ends when Crier does. If it dies it is started again, empty, on the same port.
 *
 * @throws {Error} with its own words, when it cannot be started
 */
export async function startPrivateRedis({ dataDirectory, binary, log }: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = join(dataDirectory.path, 'redis')
  const password = dataDirectory.secret('redis-password')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const record = join(folder, 'process.json')

  const launchOn = (port: number) => async (): Promise<Launched> => {
    await endLeftover(record, log)
    const [command, args] = commandLine(ownLauncher('TERM'), binary, ['-'])
    // In a session of its own, so that Ctrl-C in the terminal reaches Crier, which then stops the server last.
    const child = spawn(command, args, { cwd: folder, env: { LC_ALL: 'C' }, detached: true, stdio: 'pipe' })
    // On standard input no other user of the machine can read the password, as on the command line they could.
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

/** hz: Redis wakes clients that wait for a time at this rate, so that delayed work is on time to 10 ms. */
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
      // `pid:role date time.ms # text`, where # marks a warning (the banner at the start comes as one, too).
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

/** Ends a Redis that a killed Crier could not take along, where the kernel did not do it. */
async function endLeftover(record: string, log: Log): Promise<void> {
  const { pid, identity } = readRecord(record)
  if (pid === undefined || identity === undefined || processIdentity(pid) !== identity) return
  log.warn({ pid }, 'ending the Redis that a killed Crier left behind')
  // It has nothing to save.
  process.kill(pid, 'SIGKILL')
  for (let waited = 0; waited < 3_000 && processIdentity(pid) === identity; waited += 10) await delay(10)
}

function readRecord(record: string): { pid?: number; identity?: string } {
  try {
    return JSON.parse(readFileSync(record, 'utf8')) as { pid?: number; identity?: string }
  } catch {
    // None, or torn by the same crash: the kernel then ended the process itself, or it idles on a port nobody uses.
    return {}
  }
}
