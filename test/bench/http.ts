/**
 * The request path beside its ceilings, all in one run on one machine: `npm run bench:http`.
 *
 * 1. An authenticated GET that needs no database, against a bare uWebSockets.js handler, per CPU second.
 * 2. A list of 20, and 3. a durable create (a turn: event, audit entry and fence with it), against a server written
 *    by hand for these two routes alone, in requests a second on the same PostgreSQL.
 *
 * Both sides take turns, several rounds; medians are quoted. Nothing here is an assertion.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { createLog } from '../../src/core/log.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { cpuSeconds, machine, median, residentBytes, start, type Running } from './support/process.ts'
import { wrk, type Load } from './support/wrk.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
/** Callers at once, each with a key of its own: one caller may have 32 turns waiting. */
const CONNECTIONS = [32, 128]

interface Side {
  readonly name: string
  readonly running: Running
  readonly load: (connections: number) => Load
}

interface Figures {
  readonly perSecond: number
  readonly perCpuSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
}

async function measure(side: Side, connections: number): Promise<Figures> {
  const before = cpuSeconds(side.running.pid)
  const result = await wrk(side.load(connections))
  const cpu = cpuSeconds(side.running.pid) - before
  return { ...result, perCpuSecond: result.requests / cpu }
}

async function compare(title: string, ours: Side, rival: Side, connections: number, by: 'perSecond' | 'perCpuSecond') {
  const rows: [Figures, Figures][] = []
  await measure(ours, connections)
  await measure(rival, connections)
  for (let round = 0; round < ROUNDS; round += 1)
    rows.push([await measure(ours, connections), await measure(rival, connections)])
  const of = (side: 0 | 1, key: keyof Figures) => median(rows.map((row) => row[side][key]))
  const ratio = median(rows.map(([a, b]) => a[by] / b[by]))
  const print = (side: 0 | 1, name: string) =>
    console.log(
      `| ${title}, ${connections} conn | ${name} | ${of(side, 'perSecond').toFixed(0)} | ${of(side, 'perCpuSecond').toFixed(0)} | ${of(side, 'p50Ms').toFixed(1)} / ${of(side, 'p99Ms').toFixed(1)} | ${(residentBytes((side === 0 ? ours : rival).running.pid) / 1e6).toFixed(0)} | ${of(side, 'failed')} | ${side === 0 ? `**${(ratio * 100).toFixed(0)} %**` : ''} |`,
    )
  print(0, ours.name)
  print(1, rival.name)
}

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
const rivals: Running[] = []

try {
  const email = 'bench@example.com'
  const signed = (await call(base, '/api/auth/signup', {
    method: 'POST',
    body: { email, password: 'correct horse battery' },
  })) as never as { user: { _id: string; apiKey: string } }
  const key = signed.user.apiKey
  const created = (await call(base, '/api/workspaces', {
    method: 'POST',
    key,
    body: { name: 'Bench', timezone: 'UTC' },
  })) as never as { data: { _id: string } }
  const workspaceId = created.data._id
  const body = JSON.stringify({
    workspaceId,
    title: 'Friday show',
    description: 'Every Friday at eight',
    platforms: [],
  })
  for (let index = 0; index < 200; index += 1)
    await call(base, '/api/streams', { method: 'POST', key, body: JSON.parse(body) })

  const bodyText = await (await fetch(`${base}/api/services`)).text()
  const bodyFile = join(folder, 'body.json')
  writeFileSync(bodyFile, bodyText)
  const barePort = await freeLoopbackPort()
  const bare = await start(
    [new URL('./rivals/bare-uws.ts', import.meta.url).pathname, String(barePort), bodyFile],
    /ready/,
  )
  rivals.push(bare)
  const handPort = await freeLoopbackPort()
  const hand = await start([new URL('./rivals/hand-written.ts', import.meta.url).pathname, String(handPort)], /ready/, {
    DATABASE_URL: postgres.url,
    API_KEY: key,
  })
  rivals.push(hand)

  console.log(`Machine: ${machine()}\n`)
  console.log('| what | server | req/s | req per CPU second | p50 / p99 ms | RSS MB | failed | ratio |')
  console.log('|---|---|---|---|---|---|---|---|')
  const headers = { 'X-API-Key': key }
  await compare(
    'GET without database',
    {
      name: 'Crier',
      running: crier,
      load: (connections) => ({ url: `${base}/api/services`, connections, seconds: SECONDS, headers }),
    },
    {
      name: 'bare uWS',
      running: bare,
      load: (connections) => ({ url: `http://127.0.0.1:${barePort}/`, connections, seconds: SECONDS, headers }),
    },
    64,
    'perCpuSecond',
  )
  const list = (url: string) => (connections: number) => ({
    url: `${url}/api/streams?workspaceId=${workspaceId}&limit=20`,
    connections,
    seconds: SECONDS,
    headers,
  })
  const create = (url: string) => (connections: number) => ({
    url: `${url}/api/streams`,
    connections,
    seconds: SECONDS,
    method: 'POST',
    body,
    headers: { ...headers, 'Content-Type': 'application/json' },
  })
  const handUrl = `http://127.0.0.1:${handPort}`
  for (const connections of CONNECTIONS) {
    await compare(
      'list of 20',
      { name: 'Crier', running: crier, load: list(base) },
      { name: 'hand-written', running: hand, load: list(handUrl) },
      connections,
      'perSecond',
    )
  }
  await compare(
    'durable create',
    { name: 'Crier', running: crier, load: create(base) },
    { name: 'hand-written', running: hand, load: create(handUrl) },
    32,
    'perSecond',
  )
  const pool = new Pool({ connectionString: postgres.url })
  const counted = await pool.query<{ streams: string; events: string; last: string }>(
    `select (select count(*) from streams where workspace_id = $1) as streams,
       (select count(*) from workspace_events where workspace_id = $1) as events,
       (select max(seq) from workspace_events where workspace_id = $1) as last`,
    [workspaceId],
  )
  console.log(`\nAfterwards: ${JSON.stringify(counted.rows[0])}: event numbers are dense when events equals last.`)
  await pool.end()
} finally {
  for (const rival of rivals) await rival.stop()
  await crier.stop()
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}
