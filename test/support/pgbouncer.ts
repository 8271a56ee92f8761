import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from './tools.ts'
import { waitFor } from './wait.ts'

export interface TestPgBouncer {
  /** The URL of the same database through the pooler. */
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts Debian's PgBouncer in front of a database.
 * @param settings of its configuration file, such as `pool_mode`
 * @param connectQuery runs on each of its connections to PostgreSQL
 */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
  connectQuery?: string,
): Promise<TestPgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'crier-test-pgbouncer-'))
  const port = await freeLoopbackPort()
  const { hostname, password, pathname, port: serverPort, username } = new URL(databaseUrl)
  const login = `user=${decodeURIComponent(username)} password=${decodeURIComponent(password)}`
  const query = connectQuery === undefined ? '' : ` connect_query='${connectQuery}'`
  const file = join(folder, 'pgbouncer.ini')
  const all = { listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_type: 'any', ...settings }
  await writeFile(
    file,
    `[databases]\n${pathname.slice(1)} = host=${hostname} port=${serverPort || 5432} ${login}${query}\n[pgbouncer]\n` +
      Object.entries(all)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
  )
  await chmod(folder, 0o755)
  const { command, env } = toolPath('pgbouncer')
  // PgBouncer refuses to run as root.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const running = spawn(command, [file], { env: { ...process.env, ...env }, stdio: 'ignore', ...nobody })
  await waitFor(() => listens(port), { what: 'pgbouncer' })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  return {
    url: url.href,
    stop: async () => {
      const exited = once(running, 'exit')
      running.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
