/**
 * Attacks on a node with default settings while a legitimate user keeps working: `npm run soak:hostile`.
 *
 * Everything stays on the loopback interface. A table at the end shows how each attack affected the user and how much
 * memory the node used. Exits with 1 when a limit was exceeded: one of `BOUNDS`, or one of the attack's own.
 *
 * Environment: SECONDS per attack (10), WAIT_MS, the longest wait of the user (1000; raise it on a busy machine),
 * MESSAGES of another workspace (300000), ONLY attacks whose names contain this (all).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { attacks, FOREIGN_WORD, type HostileAttack, type Target } from './support/hostile-attacks.ts'
import { MemoryWatch, treeBytes } from './support/memory-watch.ts'
import { makePeople, type Person } from './support/people.ts'
import { SteadyUser, type SteadyFigures, type SteadyRequest } from './support/steady-user.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 10)
const ONLY = process.env['ONLY'] ?? ''
const MEGABYTE = 1_048_576
const BOUNDS = {
  /** Failed requests of the legitimate user, health checks included. */
  failures: 0,
  /** The longest wait of one of their requests. */
  waitMs: Number(process.env['WAIT_MS'] ?? 1_000),
  /** The most additional memory of the node and its processes during an attack. */
  growthBytes: 200 * MEGABYTE,
}
/** Messages in a third workspace, which is neither the attackers' nor the user's. */
const MESSAGES = Number(process.env['MESSAGES'] ?? 300_000)
/** Messages per insert, few enough for the statement timeout on a busy machine. */
const BATCH = 10_000
/** The pause after an attack before the memory is measured again. */
const SETTLE_MS = 2_000

interface Row {
  readonly name: string
  readonly seen: SteadyFigures
  readonly bytes: { readonly before: number; readonly peak: number; readonly after: number }
  readonly note: string
  readonly broken: readonly string[]
}

/** The requests of the legitimate user; two of three use a persistent connection. */
function requestsOf({ channelId, workspaceId }: Person): SteadyRequest[] {
  const messages = `/api/team/${workspaceId}/channels/${channelId}/messages`
  const health: SteadyRequest = { method: 'GET', path: '/api/health', newConnection: true }
  return [
    health,
    { method: 'GET', path: `${messages}?limit=20` },
    { method: 'GET', path: `/api/assets?workspaceId=${workspaceId}&limit=20` },
    { method: 'GET', path: '/api/ready', newConnection: true },
    { method: 'GET', path: `/api/streams?workspaceId=${workspaceId}&limit=20` },
    { method: 'GET', path: `/api/team/${workspaceId}/messages/search?q=news` },
    health,
    { method: 'GET', path: '/api/workspaces' },
    { method: 'POST', path: messages, body: { body: 'Good news' } },
  ]
}

async function seedMessages(database: Database, { channelId, id, workspaceId }: Person): Promise<void> {
  const insert = (first: number) =>
    database.run(
      `insert into chat_messages (id, channel_id, workspace_id, seq, author_id, body, created_at)
       select gen_random_uuid(), $1, $2, n, $3,
         case when n % 1000 = 0 then 'a report of the ${FOREIGN_WORD} ' || n else 'the usual report ' || n end,
         now() - n * interval '1 second'
       from generate_series($4::int, $4::int + ${BATCH - 1}) n`,
      [channelId, workspaceId, id, first],
    )
  for (let first = 1; first <= MESSAGES; first += 2 * BATCH) {
    await Promise.all([insert(first), insert(first + BATCH)])
  }
}

async function underAttack(attack: HostileAttack, target: Target, user: SteadyUser, pid: number): Promise<Row> {
  await user.figures()
  const before = treeBytes(pid)
  const memory = new MemoryWatch(pid)
  const outcome = await attack.run(target, AbortSignal.timeout(SECONDS * 1_000)).catch((error: unknown) => ({
    note: '',
    broken: [`the attack ended early: ${String(error)}`],
  }))
  const seen = await user.figures()
  const peak = memory.stop()
  await delay(SETTLE_MS)
  const bytes = { before, peak, after: treeBytes(pid) }
  const failed = Object.entries(seen.failures).map(([what, count]) => `${count} × ${what}`)
  const broken = [
    ...outcome.broken,
    ...(failed.length > BOUNDS.failures ? [`requests of the user failed: ${failed.join(', ')}`] : []),
    ...(seen.maxMs > BOUNDS.waitMs ? [`a request of the user took ${Math.round(seen.maxMs)} ms`] : []),
    ...(peak - before > (attack.growthBytes ?? BOUNDS.growthBytes)
      ? [`memory grew by ${megabytes(peak - before)} MB`]
      : []),
  ]
  return { name: attack.name, seen, bytes, note: outcome.note, broken }
}

const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE)

function printTable(rows: readonly Row[]): void {
  const cells = rows.map(({ bytes, name, note, seen }) => [
    name,
    String(seen.requests),
    ...[seen.p50Ms, seen.p99Ms, seen.maxMs].map((ms) => ms.toFixed(1)),
    String(Object.values(seen.failures).reduce((sum, count) => sum + count, 0)),
    ...[bytes.before, bytes.peak, bytes.after].map((value) => String(megabytes(value))),
    note,
  ])
  const heads = ['attack', 'requests', 'p50 ms', 'p99 ms', 'max ms', 'failed', 'MB before', 'MB peak', 'MB after', '']
  const widths = heads.map((head, column) => Math.max(...[heads, ...cells].map((row) => (row[column] ?? head).length)))
  for (const row of [heads, ...cells]) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

const folder = mkdtempSync(join(tmpdir(), 'crier-hostile-'))
const directory = await openDataDirectory(join(folder, 'postgres'))
const log = createLog({ level: 'silent' })
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
// Attacks by polling need polling. All other settings are defaults.
const settings = { CHECK_REPLIES: '0', ALLOW_PRIVATE_ADDRESSES: '0', SOCKET_POLLING: '1', DATABASE_URL: postgres.url }
const crier = await CrierProcess.start(folder, undefined, settings)
const database = await Database.connect({ url: postgres.url, poolSize: 2, entities, log })
let user: SteadyUser | undefined
try {
  const url = `http://127.0.0.1:${crier.ports.http}`
  const people = await makePeople(database, url, 15, 3)
  const inChannel = (channel: number) => people.filter((_, index) => Math.floor(index / 5) === channel)
  const [customer, author] = [inChannel(0)[0], inChannel(2)[0]] as [Person, Person]
  const started = performance.now()
  await seedMessages(database, author)
  console.log(`created ${MESSAGES} messages in another workspace in ${Math.round(performance.now() - started)} ms`)
  const adminPort = Number(/Metrics +http:\/\/[^/]+:(\d+)\/metrics/.exec(crier.stdout)?.[1])
  const target: Target = { port: crier.ports.http, adminPort, attackers: inChannel(1), customer }
  user = new SteadyUser({
    url,
    headers: { 'X-API-Key': customer.apiKey },
    requests: requestsOf(customer),
    perSecond: 18,
  })
  // Warm up the node and the client.
  await delay(3_000)
  const rows: Row[] = []
  for (const attack of attacks.filter(({ name }) => name.includes(ONLY))) {
    console.log(attack.name)
    rows.push(await underAttack(attack, target, user, crier.pid))
  }
  printTable(rows)
  const errors = (crier.stdout + crier.stderr)
    .split('\n')
    .filter((line) => /"level":("error"|"fatal"|50|60)/.test(line))
  for (const line of errors.slice(0, 10)) console.log(line)
  for (const { broken, name } of rows) {
    for (const what of broken) console.log(`FAILED ${name}: ${what}`)
    if (broken.length > 0) process.exitCode = 1
  }
} finally {
  await user?.stop()
  await database.close()
  await crier.stop()
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}
