/**
 * The request path compared with its upper limits, in one run on one machine: `npm run bench:http`.
 *
 * 1. An authenticated GET that needs no database, against a bare uWebSockets.js handler, per CPU second.
 * 2. A list of 20, and 3. a durable create (a turn with event, audit entry and fence), against a server handwritten for
 *    these two routes, in requests per second on the same PostgreSQL.
 *
 * The sides alternate for several rounds; the figures are medians. A failed request, or a reply that differs from the
 * baseline's, ends the run.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { createLog } from '../../src/core/log.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { COLUMNS, compare } from './support/compare.ts'
import { machine, start, type Running } from './support/process.ts'
import { createRequest, listRequest, VARYING } from './support/stream-requests.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
/** Concurrent callers, each with their own key, because a caller can have only 32 turns waiting. */
const CONNECTIONS = [32, 128]

async function call(base: string, path: string, options: { method?: string; body?: unknown; key?: string } = {}) {
  const response = await fetch(base + path, {
    method: options.method ?? 'GET',
    headers: { 'content-type': 'application/json', ...(options.key ? { 'x-api-key': options.key } : {}) },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, never>
}

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: createLog({ level: 'warn' }) })
const port = await freeLoopbackPort()
const crier = await start([new URL('../../src/main.ts', import.meta.url).pathname], /crier ready/, {
  PORT: String(port),
  RTMP_PORT: '0',
  ADMIN_PORT: '0',
  DATA_DIR: join(folder, 'crier'),
  DATABASE_URL: postgres.url,
  RATE_LIMITS: '0',
  REDIS_PRIVATE: '0',
})
const base = `http://127.0.0.1:${port}`
const pool = new Pool({ connectionString: postgres.url, max: 1 })
const baselines: Running[] = []

try {
  const email = 'bench@example.com'
  const signed = (await call(base, '/api/auth/signup', {
    method: 'POST',
    body: { email, password: 'correct horse battery' },
  })) as never as { user: { _id: string; apiKey: string } }
  const key = signed.user.apiKey
  await pool.query('update users set email_verified = true where id = $1', [signed.user._id])
  // The rounds create more streams in a workspace than smaller plans allow.
  await pool.query(`update subscriptions set plan = 'business' where user_id = $1`, [signed.user._id])
  const created = (await call(base, '/api/workspaces', {
    method: 'POST',
    key,
    body: { name: 'Bench', timezone: 'UTC' },
  })) as never as { data: { _id: string } }
  const workspaceId = created.data._id
  const target = { url: base, apiKey: key, workspaceId }
  const stream = { method: 'POST', key, body: JSON.parse(createRequest(target).body ?? '') as unknown }
  const firstStream = (await call(base, '/api/streams', stream)) as never as { data: { rtmpIngestUrl: string } }
  for (let index = 1; index < 200; index += 1) await call(base, '/api/streams', stream)

  const bodyText = await (await fetch(`${base}/api/services`)).text()
  const bodyFile = join(folder, 'body.json')
  writeFileSync(bodyFile, bodyText)
  const barePort = await freeLoopbackPort()
  const bare = await start(
    [new URL('./baselines/bare-uws.ts', import.meta.url).pathname, String(barePort), bodyFile],
    /ready/,
  )
  baselines.push(bare)
  const handPort = await freeLoopbackPort()
  const hand = await start(
    [new URL('./baselines/handwritten-server.ts', import.meta.url).pathname, String(handPort)],
    /ready/,
    {
      DATABASE_URL: postgres.url,
      API_KEY: key,
      INGEST_URL: firstStream.data.rtmpIngestUrl,
    },
  )
  baselines.push(hand)

  console.log(`Machine: ${machine()}\n`)
  console.log(COLUMNS)
  const headers = { 'X-API-Key': key }
  const get = (url: string) => (connections: number) => ({ url, connections, seconds: SECONDS, headers })
  await compare({
    title: 'GET without database',
    ours: { name: 'Crier', running: crier, load: get(`${base}/api/services`) },
    baseline: { name: 'bare uWS', running: bare, load: get(`http://127.0.0.1:${barePort}/`) },
    connections: 64,
    by: 'perCpuSecond',
    rounds: ROUNDS,
  })
  const list = (url: string) => (connections: number) => ({
    ...listRequest({ ...target, url }),
    connections,
    seconds: SECONDS,
  })
  const create = (url: string) => (connections: number) => ({
    ...createRequest({ ...target, url }),
    connections,
    seconds: SECONDS,
  })
  const handUrl = `http://127.0.0.1:${handPort}`
  for (const connections of CONNECTIONS) {
    await compare({
      title: 'list of 20',
      ours: { name: 'Crier', running: crier, load: list(base) },
      baseline: { name: 'handwritten', running: hand, load: list(handUrl) },
      connections,
      by: 'perSecond',
      rounds: ROUNDS,
    })
  }
  await compare({
    title: 'durable create',
    ours: { name: 'Crier', running: crier, load: create(base) },
    baseline: { name: 'handwritten', running: hand, load: create(handUrl) },
    connections: 32,
    by: 'perSecond',
    rounds: ROUNDS,
    varying: VARYING,
  })
  const counted = await pool.query<{ streams: string; events: string; last: string }>(
    `select (select count(*) from streams where workspace_id = $1) as streams,
       (select count(*) from workspace_events where workspace_id = $1) as events,
       (select max(seq) from workspace_events where workspace_id = $1) as last`,
    [workspaceId],
  )
  console.log(`\nAfterwards: ${JSON.stringify(counted.rows[0])}. Event numbers have no gaps when events equals last.`)
} finally {
  await pool.end()
  for (const baseline of baselines) await baseline.stop()
  await crier.stop()
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}
