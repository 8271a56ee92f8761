/**
 * Chat compared with its upper limits, in one run on one machine: `npm run bench:chat`.
 *
 * 1. Messages per second in one hot channel, as turns of its workspace's actor, against a handwritten loop that appends
 *    the same rows in transactions of 32 and of 64.
 * 2. Time until a message in an idle workspace is committed, against a commit of one row.
 * 3. Memory of idle sockets of a Crier process.
 * 4. Messages sent and received over sockets and stored in between, against bare broadcasts of the same frame by
 *    socket.io and by uWebSockets.js to the same receivers, which are raw sockets in a separate process.
 *
 * The sides alternate for several rounds; the figures are medians. A failed or rejected message ends the run. `ROUNDS`,
 * `SECONDS`, `RECEIVERS`, `WINDOW` and `IDLE` set the size; `PARTS=appends,idle,delivery` selects parts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { loadConfig } from '../../src/config/config.ts'
import { uuidv7 } from '../../src/tools/id.ts'
import { createLog } from '../../src/core/log.ts'
import { ALL_SCOPES } from '../../src/core/scope.ts'
import { startNode } from '../../src/server/node.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { send } from '../support/send.ts'
import { benchDelivery } from './chat/delivery.ts'
import { benchIdle } from './chat/idle.ts'
import { machine, median } from './support/process.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 4)
/** Writers, and messages in progress per writer: 240 of the 256 turns that can wait. */
const WRITERS = 15
const EACH = 16
/** Sockets in the room, messages in progress, and idle sockets whose memory is measured. */
const RECEIVERS = Number(process.env['RECEIVERS'] ?? 500)
const WINDOW = Number(process.env['WINDOW'] ?? 64)
const IDLE = Number(process.env['IDLE'] ?? 2_000)
const PARTS = new Set((process.env['PARTS'] ?? 'appends,idle,delivery').split(','))
const BODY = 'The first post goes out at nine; the second one waits for the photographs of the launch.'

const folder = mkdtempSync(join(tmpdir(), 'crier-bench-'))
const log = createLog({ level: 'warn' })
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log })
const config = loadConfig({
  PATH: process.env['PATH'],
  HOST: '127.0.0.1',
  PORT: String(await freeLoopbackPort()),
  RTMP_PORT: String(await freeLoopbackPort()),
  ADMIN_PORT: '0',
  ROLES: 'api',
  RATE_LIMITS: '0',
  REDIS_PRIVATE: '0',
  DATABASE_URL: postgres.url,
  DATA_DIR: join(folder, 'crier'),
})
const node = await startNode(config, log)
const ceiling = new Client({ connectionString: postgres.url })
await ceiling.connect()

async function ask(route: string, options: Parameters<typeof send>[2]) {
  const reply = await send(node.url, route, options)
  if (reply.status >= 300) throw new Error(`${route}: ${reply.text}`)
  return reply.body
}

interface Place {
  readonly workspaceId: string
  readonly channelId: string
  readonly userId: string
}

async function place(name: string): Promise<Place> {
  const signedUp = await ask('POST /api/auth/signup', {
    body: { email: `${name}@example.com`, password: 'correct horse battery', name },
  })
  const { apiKey, _id: userId } = signedUp.user
  await ceiling.query('update users set email_verified = true where id = $1', [userId])
  const workspace = await ask('POST /api/workspaces', { apiKey, body: { name, timezone: 'UTC' } })
  const path = { workspaceId: workspace.data._id as string }
  const body = { kind: 'channel', name: 'hot' }
  const channel = await ask('POST /api/team/{workspaceId}/channels', { apiKey, path, body })
  return { ...path, channelId: channel.data._id, userId }
}

let sent = 0

/** Sends a message through the actor, as the pipeline would. */
function append({ channelId, userId, workspaceId }: Place, writer: string): Promise<unknown> {
  sent += 1
  return node.composition.turns.operation({
    kind: 'operation',
    operation: 'sendMessage',
    audited: false,
    context: {
      path: { workspaceId, channelId },
      query: {},
      body: { body: BODY, clientId: `client-${sent}` },
      caller: { userId: writer, email: 'bench@example.com', isAdmin: false, emailVerified: true, via: 'api_key' },
      member: { workspaceId, userId, role: 'owner', scopes: new Set(ALL_SCOPES), joinedAt: '2026-01-01T00:00:00.000Z' },
      workspaceId,
      requestId: 'bench',
      remoteAddress: '127.0.0.1',
      userAgent: 'bench',
      ifMatch: undefined,
    },
  })
}

/** Creates users who can write. */
async function makeWriters({ workspaceId }: Place): Promise<string[]> {
  const ids = Array.from({ length: WRITERS }, () => uuidv7(Date.now()))
  await ceiling.query(
    `insert into users (id, email, name, password_hash, settings, created_at, updated_at)
     select id, id || '@example.com', 'Writer', '-', '{}', now(), now() from unnest($1::uuid[]) id`,
    [ids],
  )
  await ceiling.query(
    `insert into workspace_members (workspace_id, user_id, role, joined_at, updated_at)
     select $1, id, 'contributor', now(), now() from unnest($2::uuid[]) id`,
    [workspaceId, ids],
  )
  return ids
}

async function appendsPerSecond(where: Place, writers: readonly string[]): Promise<number> {
  let done = 0
  const began = performance.now()
  const until = began + SECONDS * 1_000
  const write = async (writer: string) => {
    while (performance.now() < until) {
      await append(where, writer)
      done += 1
    }
  }
  await Promise.all(writers.flatMap((writer) => Array.from({ length: EACH }, () => write(writer))))
  return (done * 1_000) / (performance.now() - began)
}

const INSERT_MESSAGES = `insert into chat_messages
  (id, channel_id, workspace_id, seq, author_id, client_id, body, attachments, mentions, mentions_all, reply_to, replies, edits, created_at)
  select id, channel_id, workspace_id, seq, author_id, client_id, body, attachments, mentions, mentions_all, reply_to, replies, edits, created_at
  from json_populate_recordset(null::chat_messages, $1::json)`
const INSERT_CHANGES = `insert into chat_log (channel_id, seq, type, message_id, by_id, data, at)
  select channel_id, seq, type, message_id, by_id, data, at from json_populate_recordset(null::chat_log, $1::json)`

/** Inserts the same rows without any checks. */
async function ceilingPerSecond(where: Place, size: number, seconds = SECONDS): Promise<number> {
  const { rows } = await ceiling.query<{ top: string }>('select max(seq) as top from chat_log where channel_id = $1', [
    where.channelId,
  ])
  let seq = Number(rows[0]?.top)
  let done = 0
  const began = performance.now()
  while (performance.now() - began < seconds * 1_000) {
    const at = new Date().toISOString()
    const messages = Array.from({ length: size }, () => {
      seq += 1
      return {
        id: uuidv7(Date.now()),
        channel_id: where.channelId,
        workspace_id: where.workspaceId,
        seq,
        author_id: where.userId,
        client_id: `client-${seq}`,
        body: BODY,
        attachments: [],
        mentions: [],
        mentions_all: false,
        reply_to: null,
        replies: 0,
        edits: 0,
        created_at: at,
      }
    })
    const changes = messages.map((message) => ({
      channel_id: where.channelId,
      seq: message.seq,
      type: 'message',
      message_id: message.id,
      by_id: where.userId,
      data: null,
      at,
    }))
    await ceiling.query('begin')
    await ceiling.query({
      name: 'fence',
      text: 'update actor_fence set seq = seq where key = $1',
      values: [`ws:${where.workspaceId}`],
    })
    await ceiling.query({ name: 'messages', text: INSERT_MESSAGES, values: [JSON.stringify(messages)] })
    await ceiling.query({ name: 'changes', text: INSERT_CHANGES, values: [JSON.stringify(changes)] })
    await ceiling.query('commit')
    done += size
  }
  return (done * 1_000) / (performance.now() - began)
}

async function p50(times: number, run: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let index = 0; index < times; index += 1) {
    const began = performance.now()
    await run()
    took.push(performance.now() - began)
  }
  return median(took)
}

/** Parts 1 and 2. */
async function benchAppends(): Promise<void> {
  await ceiling.query('create table bench_commits (id uuid primary key, body text)')
  const [ours, theirs] = [await place('ours'), await place('theirs')]
  const writers = await makeWriters(ours)
  await appendsPerSecond(ours, writers)
  await ceilingPerSecond(theirs, 64, 1)

  const rounds: { ours: number; by32: number; by64: number; idle: number; commit: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({
      ours: await appendsPerSecond(ours, writers),
      by64: await ceilingPerSecond(theirs, 64),
      by32: await ceilingPerSecond(theirs, 32),
      idle: await p50(300, () => append(ours, ours.userId)),
      commit: await p50(300, () =>
        ceiling.query({
          name: 'one',
          text: 'insert into bench_commits values ($1, $2)',
          values: [uuidv7(Date.now()), BODY],
        }),
      ),
    })
  }
  const of = (figure: (round: (typeof rounds)[number]) => number) => median(rounds.map(figure))
  const percent = (ratio: number) => `**${(ratio * 100).toFixed(0)} %**`
  console.log('| what | Crier | ceiling | ratio | aim |\n|---|---|---|---|---|')
  console.log(
    `| appends/s of one hot channel | ${of((round) => round.ours).toFixed(0)} | transactions of 64: ${of((round) => round.by64).toFixed(0)} | ${percent(of((round) => round.ours / round.by64))} | ≥ 70 % |`,
  )
  console.log(
    `| | | transactions of 32: ${of((round) => round.by32).toFixed(0)} | ${percent(of((round) => round.ours / round.by32))} | ≥ 70 % |`,
  )
  console.log(
    `| idle message until committed, p50 ms | ${of((round) => round.idle).toFixed(2)} | one commit: ${of((round) => round.commit).toFixed(2)} | **${of((round) => round.idle / round.commit).toFixed(1)} ×** | ≤ 3 × |`,
  )
  const { rows } = await ceiling.query<{ top: string; count: string }>(
    'select max(seq) as top, count(*) as count from chat_log where channel_id = $1',
    [ours.channelId],
  )
  if (rows[0]?.count !== rows[0]?.top) throw new Error('the change numbers of the hot channel have gaps')
  console.log(`\n${rows[0]?.count} changes in the hot channel, the last one numbered ${rows[0]?.top}.`)
}

try {
  console.log(machine())
  try {
    if (PARTS.has('appends')) await benchAppends()
  } finally {
    await ceiling.end()
    await node.stop()
  }
  // The remaining parts start a new Crier process each.
  const databaseUrl = postgres.url
  if (PARTS.has('idle')) await benchIdle({ databaseUrl, folder: join(folder, 'idle'), idle: IDLE })
  if (PARTS.has('delivery')) {
    const room = { body: BODY, rounds: ROUNDS, seconds: SECONDS, receivers: RECEIVERS, window: WINDOW }
    await benchDelivery({ databaseUrl, folder: join(folder, 'delivery'), ...room })
  }
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
