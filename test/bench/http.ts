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
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { COLUMNS, compare } from './support/compare.ts'
import { machine, start, type Running } from './support/process.ts'
import { createRequest, listRequest, VARYING } from './support/stream-requests.ts'
import { startBenchServer } from './support/workspace.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
/** Concurrent callers, each with their own key, because a caller can have only 32 turns waiting. */
const CONNECTIONS = [32, 128]

const server = await startBenchServer()
const { call, crier, folder, pool, url: base, workspaceId } = server
const baselines: Running[] = []

try {
  const target = { url: base, apiKey: server.apiKey, workspaceId }
  const stream = JSON.parse(createRequest(target).body ?? '') as object
  const firstStream = (await call('/api/streams', stream)) as never as { data: { rtmpIngestUrl: string } }
  for (let index = 1; index < 200; index += 1) await call('/api/streams', stream)

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
      DATABASE_URL: server.databaseUrl,
      API_KEY: server.apiKey,
      INGEST_URL: firstStream.data.rtmpIngestUrl,
    },
  )
  baselines.push(hand)

  console.log(`Machine: ${machine()}\n`)
  console.log(COLUMNS)
  const headers = { 'X-API-Key': server.apiKey }
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
  for (const baseline of baselines) await baseline.stop()
  await server.stop()
}
