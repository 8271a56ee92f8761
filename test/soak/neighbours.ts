/**
 * How long one tenant waits while another one sends heavy requests: `npm run soak:neighbours`.
 *
 * For every operation of the registry, the heaviest accepted and the heaviest refused request that its schemas allow is
 * sent ten at once, again and again, while another tenant lists posts at a steady rate. The requests are generated:
 * several candidates are sent alone, and the one that keeps the main thread busy for longest is used. Requests whose cost
 * was once unbounded are sent too (`support/heavy-cases.ts`). Rate limits are off, because they count requests.
 *
 * Prints the worst rows, and exits with 1 if the other tenant's p99 exceeded the limit in one of them, or a request of
 * theirs failed.
 *
 * Environment: SECONDS for each row (1), ONLY operations whose names contain one of these words, separated by commas
 * (all; `cases` stands for the fixed ones), P99_MS (150; raise it on a busy machine), WORST rows to print (10).
 */
import '../../src/setup/v8-flags.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createLog } from '../../src/core/log.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { api } from '../../src/registry/api.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { machine } from '../bench/support/process.ts'
import { startApp, type App } from '../support/app.ts'
import { example, stageExample } from '../support/matrix.ts'
import type { SendOptions } from '../support/send.ts'
import type { Stage } from '../support/stage.ts'
import { World } from '../support/world.ts'
import { heavyCases } from './support/heavy-cases.ts'
import { HeavySender, type Generated, type Sent } from './support/heavy-sender.ts'
import { SteadyUser, type SteadyFigures } from './support/steady-user.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 1)
const ONLY = (process.env['ONLY'] ?? '').split(',').filter((word) => word !== '')
const P99_MS = Number(process.env['P99_MS'] ?? 150)
const WORST = Number(process.env['WORST'] ?? 10)
const AT_ONCE = 10
/** A request that is busy for so long is not sent again to measure it without the compilation of its schemas. */
const LONG_MS = 1_000
/** Requests of the other tenant per second. */
const PER_SECOND = 100
const HEAD =
  '| operation | request | alone, ms | replies | longest reply, ms | p50 | p99 | max |\n|---|---|---|---|---|---|---|---|'

interface Row {
  readonly name: string
  readonly what: string
  /** How long the request alone keeps the main thread busy. */
  readonly aloneMs: number
  readonly sent: Sent
  readonly seen: SteadyFigures
}

/** An interrupted run (Ctrl-C, SIGTERM) reports the rows that it has. */
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (isInterrupted = true))

const folder = mkdtempSync(join(tmpdir(), 'crier-neighbours-'))
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: createLog({ level: 'silent' }) })
let sender: HeavySender | undefined
let user: SteadyUser | undefined
let app: App | undefined
try {
  console.log(`Machine: ${machine()}\n`)
  app = await startApp({
    databaseUrl: postgres.url,
    dataDir: join(folder, 'crier'),
    env: { CHECK_REPLIES: '0', DATABASE_POOL: '10', MEDIA_NICENESS: '10' },
  })
  sender = new HeavySender(app.url)
  const world = new World(app)
  user = await steadyUser(app, world)
  const quiet = await quietRow()
  const rows: Row[] = []
  const names = new Set<string>()
  if (ONLY.length === 0 || ONLY.includes('cases')) {
    for (const { name, prepare, route } of heavyCases) {
      const stage = await stageOf(app, world, false)
      const send = { apiKey: stage.caller.apiKey, ...(await prepare(stage)) }
      await sender.load(route, send)
      rows.push(await row(name, 'fixed', (await alone()).aloneMs))
    }
  }
  for (const op of walk(api)) {
    if (isInterrupted) break
    if (ONLY.length > 0 && !ONLY.some((word) => op.name.includes(word))) continue
    if (Object.values(op.returns as Record<string, { live?: true } | null>).some((reply) => reply?.live)) continue
    const stage = await stageOf(app, world, op.access === 'admin')
    const { note, send } = await prepared(op, stage)
    if (note !== '') names.add(`${op.name}: ${note}`)
    const generated = await sender.generate(op.name, send)
    for (const kind of ['accepted', 'refused'] as const) {
      const heaviest = await heaviestOf(generated, kind)
      if (heaviest === undefined) continue
      await sender.use(heaviest.index)
      rows.push(await row(op.name, `${kind}: ${generated[heaviest.index]?.what}`, heaviest.aloneMs))
    }
    if (op.name === 'toggleService') await switchOn(app, stage)
  }
  report(quiet, rows, names)
} finally {
  await user?.stop()
  await sender?.stop()
  await app?.stop()
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}

/** The other tenant, who lists their posts. */
async function steadyUser(on: App, world: World): Promise<SteadyUser> {
  const owner = await world.user('neighbour', { plan: 'business' })
  const workspaceId = await world.workspace('neighbour-space', 'neighbour')
  for (let made = 0; made < 20; made += 1) {
    const body = { workspaceId, content: `Post ${made} of the neighbour.`, draft: true }
    const reply = await on.send('POST /api/posts', { apiKey: owner.apiKey, body })
    if (reply.status !== 201) throw new Error(`a post could not be made: ${reply.text}`)
  }
  return new SteadyUser({
    url: on.url,
    headers: { 'X-API-Key': owner.apiKey },
    requests: [{ method: 'GET', path: `/api/posts?workspaceId=${workspaceId}` }],
    perSecond: PER_SECOND,
  })
}

/** A new tenant, so that no operation meets what another one left. */
async function stageOf(on: App, world: World, admin: boolean): Promise<Stage> {
  const name = `tenant-${crypto.randomUUID().slice(0, 8)}`
  const owner = await world.user(name, { plan: 'business', admin })
  return { app: on, workspaceId: await world.workspace(`${name}-space`, name), owner, caller: owner }
}

/** The example with everything that it needs; without that, if it could not be made. */
async function prepared(op: NamedOperation, stage: Stage): Promise<{ send: SendOptions; note: string }> {
  try {
    return { send: (await stageExample(op, stage)).send, note: '' }
  } catch (error) {
    const note = (error as Error).message.slice(0, 100)
    return { send: { apiKey: stage.caller.apiKey, ...example(op) }, note }
  }
}

/** The request of this kind that keeps the main thread busy for longest; undefined if none is of the kind. */
async function heaviestOf(
  generated: readonly Generated[],
  kind: Generated['kind'],
): Promise<{ readonly index: number; readonly aloneMs: number } | undefined> {
  let heaviest: { readonly index: number; readonly aloneMs: number } | undefined
  for (const [index, one] of generated.entries()) {
    if (isInterrupted) break
    if (one.kind !== kind) continue
    await sender!.use(index)
    const fits = (status: number) => status < 400 === (kind === 'accepted')
    const first = await alone()
    // The first request of an operation compiles its schemas.
    const { aloneMs, status } = fits(first.status) && first.aloneMs < LONG_MS ? await alone() : first
    if (fits(status) && aloneMs > (heaviest?.aloneMs ?? -1)) heaviest = { index, aloneMs }
  }
  return heaviest
}

/** Sends the loaded request once. */
async function alone(): Promise<{ aloneMs: number; status: number }> {
  const before = performance.eventLoopUtilization()
  const { statuses } = await sender!.burst(1, 0)
  const { active } = performance.eventLoopUtilization(before)
  return { aloneMs: active, status: Number(Object.keys(statuses)[0] ?? Number.NaN) }
}

/** The figures of the other tenant without heavy requests. */
async function quietRow(): Promise<Row> {
  await user!.figures()
  await delay(SECONDS * 1_000)
  const seen = await user!.figures()
  return { name: 'nothing', what: '', aloneMs: 0, sent: { statuses: {}, maxMs: 0 }, seen }
}

/** Sends the loaded request ten at once. */
async function row(name: string, what: string, aloneMs: number): Promise<Row> {
  await user!.figures()
  const sent = await sender!.burst(AT_ONCE, SECONDS)
  const seen = await user!.figures()
  const one = { name, what, aloneMs, sent, seen }
  if (ONLY.length > 0 || seen.p99Ms > P99_MS) console.log(lineOf(one))
  return one
}

async function switchOn(on: App, { caller: { apiKey } }: Stage): Promise<void> {
  const path = { serviceKey: 'streams' }
  await on.send('POST /api/services/{serviceKey}/toggle', { apiKey, path, body: { enabled: true } })
}

function lineOf({ aloneMs, name, seen, sent, what }: Row): string {
  const replies = Object.entries(sent.statuses).map(([status, count]) => `${count} × ${status}`)
  const times = [seen.p50Ms, seen.p99Ms, seen.maxMs].map((ms) => ms.toFixed(0))
  return `| ${name} | ${what} | ${aloneMs.toFixed(0)} | ${replies.join(', ')} | ${sent.maxMs.toFixed(0)} | ${times.join(' | ')} |`
}

function report(quiet: Row, rows: readonly Row[], names: ReadonlySet<string>): void {
  const worst = rows.toSorted((a, b) => b.seen.p99Ms - a.seen.p99Ms)
  console.log(`\n${HEAD}`)
  for (const one of worst.slice(0, WORST)) console.log(lineOf(one))
  console.log(`\nWithout heavy requests:\n${lineOf(quiet)}`)
  for (const name of names) console.log(`not prepared: ${name}`)
  const failed = rows.filter(({ seen }) => Object.keys(seen.failures).length > 0)
  for (const { name, seen } of failed)
    console.log(`requests of the other tenant failed during ${name}: ${JSON.stringify(seen.failures)}`)
  const slow = rows.filter(({ seen }) => seen.p99Ms > P99_MS)
  console.log(`\n${rows.length} rows, ${slow.length} with a p99 above ${P99_MS} ms.`)
  if (slow.length > 0 || failed.length > 0) process.exitCode = 1
}
