/**
 * How reads grow with what is stored: `npm run bench:growth`.
 *
 * Fills a database by SQL with one large workspace and small ones beside it, and calls every GET of the registry in a small
 * and in the large workspace. Each statement of a request runs again under EXPLAIN, with the plan that a connection uses
 * after several executions. Lists the statements that touch more than three times as many blocks in the large workspace,
 * unless they return more rows, scan a large table, or take more than 50 ms.
 *
 * Afterwards it measures what else depends on the size of a database: the start of a server, each statement of each
 * schedule, the purge of the large workspace with requests of another one beside it, and a vacuum.
 *
 * `SCALE=0.05` fills a twentieth. `FILL=0` compares two small workspaces, which shows the noise. `ONLY=reads` leaves out
 * the rest. Ends with an error if a list is not empty.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { createLog } from '../../src/core/log.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { ALL_SCOPES } from '../../src/core/scope.ts'
import { api } from '../../src/registry/api.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { startApp } from '../support/app.ts'
import { stageExample } from '../support/matrix.ts'
import type { SendOptions } from '../support/send.ts'
import type { Stage } from '../support/stage.ts'
import { World } from '../support/world.ts'
import { Fill } from './growth/fill.ts'
import { StatementRecorder } from './growth/recorder.ts'
import { explain, type Cost } from './growth/explain.ts'
import { purge, runSchedules, startSeconds, vacuum } from './growth/maintenance.ts'
import { machine } from './support/process.ts'

const SCALE = Number(process.env['SCALE'] ?? 1)
const GROWS = 3
const MOST_MS = 50
/** Blocks that any request may touch, whatever it returns. */
const FEW_BLOCKS = 100
/** Blocks for each returned row: its page, its large values, pages of indexes, and rows that belong to it. */
const BLOCKS_PER_ROW = 16

/** Statements that may touch more blocks, because they read a bounded number of rows for each row that they return. */
const BOUNDED: Readonly<Record<string, string>> = {
  listChannels: 'counts the newest 1,000 messages of each channel, in an index',
}

const folder = mkdtempSync(join(tmpdir(), 'crier-growth-'))
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({
  dataDirectory: directory,
  log: createLog({ level: 'warn' }),
  durable: false,
})
const recorder = new StatementRecorder()

interface Side {
  readonly stage: (op: NamedOperation) => Promise<Stage>
  readonly workspaceId: string
}

interface Measured {
  readonly status: number
  readonly costs: ReadonlyMap<string, Cost>
}

try {
  console.log(`Machine: ${machine()}\n`)
  const dataDir = join(folder, 'crier')
  let app = await startApp({ databaseUrl: postgres.url, dataDir })
  const direct = new Client({ connectionString: postgres.url, options: '-c timezone=UTC' })
  await direct.connect()
  try {
    const world = new World(app)
    await world.user('root', { admin: true })
    const side = async (name: string): Promise<Side> => {
      const owner = await world.user(`${name} owner`.replace(' ', '-'), { plan: 'business' })
      const workspaceId = await world.workspace(name, `${name}-owner`)
      await world.member(name, `${name}-member`, { scopes: ALL_SCOPES })
      return {
        workspaceId,
        stage: async (op) => {
          const caller = await world.user(op.access === 'admin' ? 'root' : `${name}-member`)
          return { app, workspaceId, owner, caller }
        },
      }
    }
    const small = await side('small')
    const large = await side('large')
    const reads = walk(api).filter(({ method }) => method === 'GET')
    const requests = new Map<NamedOperation, readonly [SendOptions, SendOptions]>()
    for (const op of reads) {
      try {
        const [one, other] = [
          await stageExample(op, await small.stage(op)),
          await stageExample(op, await large.stage(op)),
        ]
        if (one.prepared.once !== true && one.prepared.error === undefined) requests.set(op, [one.send, other.send])
      } catch (error) {
        console.log(`${op.name} could not be prepared: ${(error as Error).message.slice(0, 200)}`)
      }
    }
    if (process.env['FILL'] !== '0') {
      const began = performance.now()
      const [userId, ownerId] = [world.id('large-member'), world.id('large-owner')]
      await new Fill(direct, { workspaceId: large.workspaceId, userId, ownerId, scale: SCALE }).run()
      await app.composition.services.queues.forget()
      await direct.query('vacuum analyze')
      console.log(`Filled in ${((performance.now() - began) / 1_000).toFixed(0)} s at scale ${SCALE}.\n`)
    }
    const big = await largeTables(direct)
    const measure = async (op: NamedOperation, send: SendOptions): Promise<Measured> => {
      const call = () => app.send(op.route as string, send)
      await call()
      const { result, statements } = await recorder.during(call)
      const costs = new Map<string, Cost>()
      const isSearch = statements.some(({ text }) => text.includes('force_custom_plan'))
      for (const { text, values } of statements) {
        const cost = await explain(direct, text, values, big, isSearch)
        const before = costs.get(text)
        if (cost !== undefined && (before === undefined || before.blocks < cost.blocks)) costs.set(text, cost)
      }
      return { status: result.status, costs }
    }
    console.log('| operation | statement | small → large | rows | why |\n|---|---|---|---|---|')
    let listed = 0
    for (const [op, [one, other]] of requests) {
      const less = await measure(op, one)
      const more = await measure(op, other)
      for (const [text, cost] of more.costs) {
        const base = less.costs.get(text)
        const allowed = FEW_BLOCKS + BLOCKS_PER_ROW * cost.rows
        const reasons = [
          ...(!(op.name in BOUNDED) && cost.blocks > allowed && cost.blocks > GROWS * (base?.blocks ?? 0)
            ? ['grows']
            : []),
          ...(cost.scans.length > 0 ? [`scans ${cost.scans.join(', ')}`] : []),
          ...(cost.ms > MOST_MS ? [`takes ${cost.ms.toFixed(0)} ms`] : []),
        ]
        if (reasons.length === 0) continue
        listed += 1
        const shown = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 110)
        const numbers = `${base?.blocks ?? '–'} → ${cost.blocks} blocks, ${base?.ms.toFixed(1) ?? '–'} → ${cost.ms.toFixed(1)} ms`
        console.log(`| \`${op.name}\` | \`${shown}\` | ${numbers} | ${cost.rows} | ${reasons.join('; ')} |`)
      }
    }
    console.log(`\n${requests.size} of ${reads.length} reads measured, ${listed} statements listed.`)
    if (listed > 0) process.exitCode = 1
    if (process.env['ONLY'] !== 'reads') {
      await app.stop()
      console.log(`\nA server starts in ${(await startSeconds(postgres.url, dataDir)).toFixed(1)} s.`)
      // Without jobs, so that only what is measured runs.
      app = await startApp({ databaseUrl: postgres.url, dataDir, env: { ROLES: 'api' } })
      const { apiKey } = await world.user('small-owner')
      const query = { workspaceId: small.workspaceId }
      const request = () => app.send('GET /api/posts', { apiKey, query })
      const slow = [
        await runSchedules(app, recorder),
        await purge(app, recorder, { direct, request, workspaceId: large.workspaceId }),
      ]
      await vacuum(direct)
      if (slow.some((count) => count > 0)) process.exitCode = 1
    }
  } finally {
    await direct.end()
    await app.stop()
  }
} finally {
  await postgres.stop()
  directory.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Tables with so many rows that reading all of them is a fault. */
async function largeTables(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and reltuples > 5000 and relnamespace = 'public'::regnamespace`,
  )
  return new Set(rows.map(({ name }) => name))
}
