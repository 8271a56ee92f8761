/**
 * Sends events to webhooks while a fifth of their endpoints fail: `npm run soak:webhooks`.
 *
 * EVENTS (10000) are emitted at RATE (50) a second in WORKSPACES (10), which share ENDPOINTS (100). Each endpoint gets all
 * events of its workspace. Every fifth hangs, replies 500, takes three seconds, or resets the connection. When all events
 * are emitted, these recover, and their next attempts are made due, because back-off takes up to twelve hours.
 *
 * - Every endpoint must accept every event of its workspace, in order.
 * - No event may reach a healthy endpoint more than 2 s after it has happened.
 *
 * Exits with 1 otherwise.
 */
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds, machine } from '../bench/support/process.ts'
import { startBenchServer } from '../bench/support/workspace.ts'
import { FAILINGS, startEndpoints, type Endpoint } from './support/endpoints.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 10_000)
const RATE = Number(process.env['RATE'] ?? 50)
const WORKSPACES = Number(process.env['WORKSPACES'] ?? 10)
const ENDPOINTS = Number(process.env['ENDPOINTS'] ?? 100)
const MAX_LATE_MS = 2_000
/** How long the endpoints that had failed may take to catch up. */
const CATCH_UP_MS = 240_000

const server = await startBenchServer({ ALLOW_PRIVATE_ADDRESSES: '1' })
const endpoints = await startEndpoints()
const perWorkspace = Math.ceil(EVENTS / WORKSPACES)
const faults: string[] = []

async function make(path: string, body: object): Promise<string> {
  const reply = (await server.call(path, body)) as unknown as { data: { _id: string } }
  return reply.data._id
}

async function addEndpoints(workspaceIds: readonly string[]): Promise<void> {
  for (let index = 0; index < ENDPOINTS; index += 1) {
    const workspaceId = workspaceIds[index % WORKSPACES] as string
    // Those of one workspace fail in different ways.
    const round = Math.floor(index / WORKSPACES)
    const fails = (index + round) % 5 === 4
    const failing = fails ? FAILINGS[Math.floor(index / 5) % FAILINGS.length] : undefined
    const url = endpoints.add(workspaceId, failing)
    await make('/api/webhooks', { workspaceId, url, events: ['folder.*'] })
  }
}

async function emit(workspaceIds: readonly string[]): Promise<void> {
  const open = new Set<Promise<void>>()
  const began = performance.now()
  for (let n = 0; n < perWorkspace * WORKSPACES; n += 1) {
    const body = { workspaceId: workspaceIds[n % WORKSPACES], name: `folder ${n}` }
    const call: Promise<void> = make('/api/assets/folders', body).then(
      () => void open.delete(call),
      (error: Error) => void faults.push(`an event was not emitted: ${error.message}`),
    )
    open.add(call)
    const ahead = began + ((n + 1) / RATE) * 1_000 - performance.now()
    if (ahead > 0) await delay(ahead)
    if (open.size > 100) await Promise.race(open)
  }
  await Promise.all(open)
}

async function recover(): Promise<void> {
  endpoints.recover()
  const until = performance.now() + CATCH_UP_MS
  const isBehind = ({ accepted }: Endpoint) => new Set(accepted).size < perWorkspace
  while (performance.now() < until && endpoints.all.some(isBehind)) {
    await server.pool.query(`update webhook_deliveries set next_attempt_at = now() where status = 'pending'`)
    await server.pool.query('update webhooks set blocked_until = null where blocked_until is not null')
    await delay(3_000)
  }
}

/** Adds what is wrong with an endpoint to the faults. */
function judge({ accepted, lateMs, failing, path }: Endpoint): void {
  const missing = perWorkspace - new Set(accepted).size
  if (missing > 0) faults.push(`${path} (${failing ?? 'healthy'}) lacks ${missing} events`)
  const unordered = accepted.filter((seq, index) => seq < (accepted[index - 1] ?? 0)).length
  if (unordered > 0) faults.push(`${path} (${failing ?? 'healthy'}) got ${unordered} events before earlier ones`)
  const late = lateMs.filter((ms) => ms > MAX_LATE_MS).length
  if (failing === undefined && late > 0) faults.push(`${path} got ${late} events later than ${MAX_LATE_MS} ms`)
}

const load = () => `load of the machine ${loadavg()[0]?.toFixed(1)}`

console.log(`${machine()}, ${load()}: ${EVENTS} events at ${RATE}/s, ${WORKSPACES} workspaces, ${ENDPOINTS} endpoints`)
try {
  const workspaceIds: string[] = [server.workspaceId]
  while (workspaceIds.length < WORKSPACES) {
    workspaceIds.push(await make('/api/workspaces', { name: `Bench ${workspaceIds.length}`, timezone: 'UTC' }))
  }
  await addEndpoints(workspaceIds)
  const transactions = async () => {
    const committed = 'select xact_commit::float8 as count from pg_stat_database where datname = current_database()'
    return (await server.pool.query<{ count: number }>(committed)).rows[0]?.count ?? 0
  }
  const transactionsBefore = await transactions()
  const began = performance.now()
  const cpuBefore = cpuSeconds(server.crier.pid)
  await emit(workspaceIds)
  console.log(`emitted in ${((performance.now() - began) / 1_000).toFixed(1)} s`)
  await delay(MAX_LATE_MS + 1_000)
  const healthy = endpoints.all.filter(({ failing }) => failing === undefined)
  const late = healthy.flatMap(({ lateMs }) => lateMs).toSorted((a, b) => a - b)
  const at = (share: number) => `${late[Math.min(late.length - 1, Math.floor(share * late.length))]} ms`
  const cpuMs = ((cpuSeconds(server.crier.pid) - cpuBefore) * 1_000) / late.length
  console.log(`the server used ${cpuMs.toFixed(1)} ms of CPU for each of these deliveries, with the requests that emit`)
  console.log(
    `${late.length} deliveries to ${healthy.length} healthy endpoints: p50 ${at(0.5)}, p99 ${at(0.99)}, latest ${at(1)}`,
  )
  const perDelivery = ((await transactions()) - transactionsBefore) / late.length
  console.log(`${perDelivery.toFixed(2)} transactions for each of them, with those of the requests; ${load()}`)
  await recover()
  for (const endpoint of endpoints.all) judge(endpoint)
  const [accepted, distinct] = [
    endpoints.all.reduce((sum, one) => sum + one.accepted.length, 0),
    endpoints.all.reduce((sum, one) => sum + new Set(one.accepted).size, 0),
  ]
  console.log(
    `${distinct} of ${perWorkspace * ENDPOINTS} deliveries accepted, ${accepted - distinct} of them twice, ` +
      `${endpoints.refused} attempts failed; all after ${((performance.now() - began) / 1_000).toFixed(1)} s`,
  )
} finally {
  endpoints.close()
  await server.stop()
}
for (const fault of faults.slice(0, 20)) console.log(`FAULT: ${fault}`)
console.log(faults.length === 0 ? 'ok' : `${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
