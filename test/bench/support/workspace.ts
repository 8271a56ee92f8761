import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { createLog } from '../../../src/core/log.ts'
import { openDataDirectory } from '../../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../../src/setup/embedded-postgres.ts'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import { start, type Running } from './process.ts'
import { START_ENV, START_FLAGS } from './start-settings.ts'

/** A running server with a user on the largest plan, a workspace, and direct access to its database. */
export interface BenchServer {
  readonly crier: Running
  readonly url: string
  readonly databaseUrl: string
  readonly pool: Pool
  readonly apiKey: string
  readonly workspaceId: string
  /** An empty folder, which `stop` removes. */
  readonly folder: string
  /** Sends a request with the user's key. @throws Error unless the reply is a success */
  readonly call: (path: string, body?: object) => Promise<Record<string, never>>
  readonly stop: () => Promise<void>
}

/** Starts a server on its own PostgreSQL, without Redis and rate limits. */
export async function startBenchServer(env: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
  const directory = await openDataDirectory(join(folder, 'postgres'))
  const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: createLog({ level: 'warn' }) })
  const port = await freeLoopbackPort()
  const crier = await start(
    [...START_FLAGS, new URL('../../../src/main.ts', import.meta.url).pathname],
    /crier ready/,
    {
      ...START_ENV,
      PORT: String(port),
      RTMP_PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: join(folder, 'crier'),
      DATABASE_URL: postgres.url,
      RATE_LIMITS: '0',
      REDIS_PRIVATE: '0',
      ...env,
    },
  )
  const url = `http://127.0.0.1:${port}`
  const pool = new Pool({ connectionString: postgres.url, max: 1 })
  const send = (apiKey: string) => async (path: string, body?: object) => {
    const response = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...(apiKey === '' ? {} : { 'x-api-key': apiKey }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, never>
  }
  const credentials = { email: 'bench@example.com', password: 'correct horse battery' }
  const { user } = (await send('')('/api/auth/signup', credentials)) as never as {
    user: { _id: string; apiKey: string }
  }
  await pool.query('update users set email_verified = true where id = $1', [user._id])
  await pool.query(`update subscriptions set plan = 'business' where user_id = $1`, [user._id])
  const call = send(user.apiKey)
  const made = (await call('/api/workspaces', { name: 'Bench', timezone: 'UTC' })) as never as { data: { _id: string } }
  return {
    crier,
    url,
    databaseUrl: postgres.url,
    pool,
    apiKey: user.apiKey,
    workspaceId: made.data._id,
    folder,
    call,
    stop: async () => {
      await pool.end()
      await crier.stop()
      await postgres.stop()
      directory.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
