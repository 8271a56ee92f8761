import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from './tools.ts'
import { waitFor } from './wait.ts'

export interface TestRedis {
  readonly url: string
  /** Stops it without closing its connections, like a machine that hangs. It ends with `stop`. */
  hang(): void
  /** Kills it without a shutdown, like a crash. */
  kill(): Promise<void>
  /** Restarts it empty on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a Redis that keeps nothing on disk.
 * @param more settings of its configuration, such as `cluster-enabled`
 */
export async function startRedis(more: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-test-redis-'))
  const port = await freeLoopbackPort()
  let running: ChildProcess | undefined
  const start = async () => {
    const { command, env } = toolPath('redis-server')
    const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no', daemonize: 'no', ...more }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    running = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'ignore' })
    await waitFor(() => answers(port), { what: 'redis-server' })
  }
  const kill = async () => {
    if (running === undefined) return
    const exited = once(running, 'exit')
    running.kill('SIGKILL')
    running = undefined
    await exited
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    hang: () => void running?.kill('SIGSTOP'),
    kill,
    restart: start,
    stop: async () => {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a sentinel that watches a primary named `crier`, and resolves when it knows a replica. */
export async function startSentinel(primaryUrl: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-test-sentinel-'))
  const port = await freeLoopbackPort()
  // Sentinels keep what they know in this file.
  const file = join(folder, 'sentinel.conf')
  await writeFile(
    file,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor crier 127.0.0.1 ${new URL(primaryUrl).port} 1
sentinel down-after-milliseconds crier 3000
sentinel failover-timeout crier 3000
`,
  )
  const { command, env } = toolPath('redis-server')
  const running = spawn(command, [file, '--sentinel'], { env: { ...process.env, ...env }, stdio: 'ignore' })
  await waitFor(() => answers(port), { what: 'sentinel' })
  return {
    url: `redis+sentinel://127.0.0.1:${port}/crier`,
    stop: async () => {
      const exited = once(running, 'exit')
      running.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(bytes.toString().startsWith('+PONG'))
    })
    socket.once('error', () => resolve(false))
  })
}
