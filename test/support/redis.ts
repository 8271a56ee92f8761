import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from './tools.ts'
import { waitFor } from './wait.ts'

export interface TestRedis {
  readonly url: string
  /** Kills it without a shutdown, like a crash. */
  kill(): Promise<void>
  /** Restarts it empty on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts a Redis that keeps nothing on disk. */
export async function startRedis(): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-test-redis-'))
  const port = await freeLoopbackPort()
  let running: ChildProcess | undefined
  const start = async () => {
    const { command, env } = toolPath('redis-server')
    const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no', daemonize: 'no' }
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
    kill,
    restart: start,
    stop: async () => {
      await kill()
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
