/**
 * Chat under faults: `npm run soak:chat`. Nodes are killed and restarted, clients disconnect and return, and messages are
 * sent, edited and deleted meanwhile. At the end every client must have exactly the state of the database.
 *
 * Environment: SOCKETS (2000), CHANNELS (50), RATE a second (200), SECONDS (300), KILL_EVERY seconds (25), NODES (2).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ChatLog } from '../../src/domains/talk/chat/chat-log.ts'
import { fromSnapshot, stateHash } from '../../src/domains/talk/chat/state.ts'
import { createLog } from '../../src/core/log.ts'
import { Database } from '../../src/db/database.ts'
import { entities } from '../../src/registry/entities.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { startRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { SoakMember, type Findings } from './support/member.ts'
import { Nodes } from './support/nodes.ts'
import { makePeople, type Person } from './support/people.ts'

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback)
const SOCKETS = number('SOCKETS', 2_000)
const CHANNELS = number('CHANNELS', 50)
const RATE = number('RATE', 200)
const SECONDS = number('SECONDS', 300)
const KILL_EVERY = number('KILL_EVERY', 25)
const NODES = number('NODES', 2)
/** The longest time for all clients to connect at first. */
const START_MS = number('START', 120) * 1_000
/** The longest time for clients to reach the state of the database after the load ends. */
const SETTLE_MS = number('SETTLE', 120) * 1_000

const findings: Findings = {
  acksMs: [],
  awayMs: [],
  resumesMs: [],
  acknowledged: new Map(),
  gaps: 0,
  doubled: 0,
  refused: new Map(),
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10
}

const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T

/** Kills and restarts nodes, one at a time, until it is stopped. */
async function disturb(nodes: Nodes, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (let waited = 0; waited < KILL_EVERY * 1_000 && !isOver(); waited += 200) await delay(200)
    if (isOver()) return
    const index = Math.floor(Math.random() * nodes.count)
    const signal = await nodes.end(index)
    console.log(`node ${index} ended by ${signal}`)
    await delay(500 + Math.random() * 3_000)
    await nodes.startOne(index)
  }
}

/** Disconnects half of the clients, and lets them return one after the other. */
async function dropHalf(members: readonly SoakMember[]): Promise<void> {
  await delay((SECONDS * 1_000) / 3)
  const half = members.slice(0, members.length / 2)
  for (const member of half) member.drop()
  console.log(`${half.length} clients disconnected`)
  await delay((SECONDS * 1_000) / 10)
  for (const [index, member] of half.entries()) {
    member.release()
    if (index % 50 === 49) await delay(100)
  }
  console.log(`${half.length} clients returned`)
}

async function talk(members: readonly SoakMember[]): Promise<number> {
  const endsAt = performance.now() + SECONDS * 1_000
  let acts = 0
  for (let now = performance.now(); now < endsAt; now = performance.now()) {
    const due = Math.floor(((SECONDS * 1_000 - (endsAt - now)) / 1_000) * RATE)
    for (; acts < due; acts += 1) {
      const member = any(members)
      if (!member.busy) void member.act()
    }
    await delay(10)
  }
  await waitFor(() => members.every(({ busy }) => !busy), { timeoutMs: 60_000, what: 'every reply' })
  return acts
}

/** Waits until every client has the state of the database. @returns the clients that do not */
async function settled(members: readonly SoakMember[], database: Database): Promise<SoakMember[]> {
  const log = new ChatLog(database)
  const truths = new Map<string, string>()
  const byChannel = new Map<string, Person>(members.map(({ person }) => [person.channelId, person]))
  for (const { channelId, id, workspaceId } of byChannel.values()) {
    truths.set(channelId, stateHash(fromSnapshot(await log.snapshot(workspaceId, id, channelId))))
  }
  const apart = () => members.filter((member) => member.hash !== truths.get(member.person.channelId))
  const endsAt = performance.now() + SETTLE_MS
  let left = apart()
  while (left.length > 0 && performance.now() < endsAt) {
    await delay(500)
    left = left.filter((member) => member.hash !== truths.get(member.person.channelId))
  }
  return left
}

/** Compares the acknowledged messages with the database. */
async function audit(database: Database): Promise<{ lost: number; doubled: number; holes: number }> {
  const rows = await database.rows<{ id: string; body: string; deleted_at: string | null }>(
    'select id, body, deleted_at from chat_messages',
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  let lost = 0
  for (const [id, body] of findings.acknowledged) {
    const row = stored.get(id)
    const isRight = row !== undefined && (body === undefined ? row.deleted_at !== null : row.body === body)
    if (!isRight) lost += 1
  }
  const twice = await database.row<{ count: number }>(
    `select (count(*) - count(distinct (channel_id, author_id, client_id)))::int as count from chat_messages where client_id is not null`,
  )
  const holes = await database.row<{ count: number }>(
    'select coalesce(sum(top - n), 0)::int as count from (select max(seq) as top, count(*) as n from chat_log group by channel_id) logs',
  )
  return { lost, doubled: twice?.count ?? 0, holes: holes?.count ?? 0 }
}

const folder = mkdtempSync(join(tmpdir(), 'crier-soak-'))
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: createLog({ level: 'silent' }) })
const redis = await startRedis()
const nodes = await Nodes.start(NODES, folder, {
  DATABASE_URL: postgres.url,
  REDIS_URL: redis.url,
  JWT_SECRET: 'the token secret that all nodes share',
  CLUSTER_SECRET: 'the cluster secret that all nodes share',
  LOG_LEVEL: 'warn',
})
const database = await Database.connect({
  url: postgres.url,
  poolSize: 4,
  entities,
  log: createLog({ level: 'silent' }),
})
const members: SoakMember[] = []
try {
  const people = await makePeople(database, nodes.url(), SOCKETS, CHANNELS)
  const startedAt = performance.now()
  for (const [index, person] of people.entries()) {
    members.push(new SoakMember(person, () => nodes.url(), findings))
    if (index % 50 === 49) await delay(50)
  }
  await waitFor(() => members.every(({ isLive }) => isLive), { timeoutMs: START_MS, what: 'every client to be live' })
  console.log(`${members.length} clients live after ${Math.round(performance.now() - startedAt)} ms`)
  findings.resumesMs.length = 0
  let isOver = false
  const disturbing = disturb(nodes, () => isOver)
  const [acts] = await Promise.all([talk(members), dropHalf(members)])
  isOver = true
  await disturbing
  const quietAt = performance.now()
  const apart = await settled(members, database)
  const { lost, doubled, holes } = await audit(database)
  const result = {
    sockets: SOCKETS,
    channels: CHANNELS,
    seconds: SECONDS,
    acts,
    acknowledged: findings.acksMs.length + findings.awayMs.length,
    ofThoseAway: findings.awayMs.length,
    refused: Object.fromEntries(findings.refused),
    kills: nodes.kills,
    lost,
    doubled: doubled + findings.doubled,
    gaps: findings.gaps + holes,
    apart: apart.length,
    settledMs: Math.round(performance.now() - quietAt),
    ackMs: { p50: percentile(findings.acksMs, 0.5), p99: percentile(findings.acksMs, 0.99) },
    resumes: findings.resumesMs.length,
    resumeMs: { p50: percentile(findings.resumesMs, 0.5), p99: percentile(findings.resumesMs, 0.99) },
  }
  console.log(`RESULT ${JSON.stringify(result)}`)
  if (lost + result.doubled + result.gaps + apart.length > 0) process.exitCode = 1
} finally {
  for (const member of members) member.close()
  await database.close()
  await nodes.stop()
  await redis.stop()
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}
