/**
 * How reads grow with what is stored: `npm run bench:growth`.
 *
 * Fills a database by SQL with one large workspace and small ones beside it, and calls every GET of the registry in a small
 * and in the large workspace: its example, and the example with each optional filter, order and cursor. Each statement of a
 * request runs again under EXPLAIN, with the plan that a connection uses after several executions. Lists the statements
 * that touch more than three times as many blocks in the large workspace, unless they return more rows, scan a large
 * table, sort thousands of rows, or take more than 50 ms.
 *
 * Afterwards it measures what else depends on the size of a database: the start of a server, each statement of each
 * schedule, the purge of the large workspace with requests of another one beside it, and a vacuum.
 *
 * `SCALE=0.05` fills a twentieth. `FILL=0` compares two small workspaces, which shows the noise. `ONLY=reads` leaves out
 * the rest, `ONLY=rest` the reads. `READS=listAssets,listTags` measures these. `KEEP=<folder>` fills a database there, or
 * uses the one that is there; what changes it runs on a copy. Ends with an error if a list is not empty.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { createLog } from '../../src/core/log.ts'
import type { NamedOperation } from '../../src/core/operation.ts'
import { openDataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { startApp, type App } from '../support/app.ts'
import type { SendOptions } from '../support/send.ts'
import { Fill } from './growth/fill.ts'
import { StatementRecorder } from './growth/recorder.ts'
import { explain, type Cost } from './growth/explain.ts'
import { purge, runSchedules, startSeconds, vacuum } from './growth/maintenance.ts'
import { readStaged, reads, stageReads, writeStaged, type Staged } from './growth/staged.ts'
import { variants } from './growth/variants.ts'
import { machine } from './support/process.ts'

const SCALE = Number(process.env['SCALE'] ?? 1)
const ONLY = process.env['ONLY']
const KEEP = process.env['KEEP']
const READS = process.env['READS']?.split(',')
const GROWS = 3
const MAX_MS = 50
/** Blocks that any request may touch, whatever it returns. */
const FEW_BLOCKS = 100
/** Blocks for each returned row: its page, its large values, pages of indexes, and rows that belong to it. */
const BLOCKS_PER_ROW = 16
/** Rows that any statement may sort. */
const MAX_SORTED = 2_000
/** Executions of a statement that one request sends with many values. */
const EXECUTIONS_OF_STATEMENT = 6
/** Replies that go on for as long as there are rows. One is enough, because it has thousands of statements. */
const LONG = new Set(['exportMyData'])
const LONG_MS = 30_000
/** Reads whose statements are those of another one, and which take seconds. */
const WITHOUT_VARIANTS = new Set(['exportReportPdf'])

/** Part of a statement that may grow or sort, by operation, and why. */
const BOUNDED: readonly { readonly of: RegExp; readonly text: RegExp; readonly why: string }[] = [
  {
    of: /^listChannels/,
    text: /"chat_messages"/,
    why: 'counts the newest 1,000 messages of each channel, in an index',
  },
  {
    of: /^(exportReport|getPlatformStats|getReportData|listContentAnalytics|getBestTimes|getSuggestions)/,
    text: /"analytics_content"/,
    why: 'reads what was published on the days that are asked for',
  },
  {
    of: /^(getDashboardMetrics|listUpcomingPosts)/,
    text: /"targetIds"/,
    why: 'reads all targets of each post that it returns',
  },
  {
    of: /^(listPosts|exportPosts)\?q=/,
    text: /"matches"/,
    why: 'looks at the first 500 posts before it asks the index of words',
  },
  {
    of: /^getTicketStats/,
    text: /count\(\*\)|percentile_cont/,
    why: 'counts tickets in an index, and times the newest 10,000',
  },
]

const folder = KEEP === undefined ? mkdtempSync(join(tmpdir(), 'crier-growth-')) : resolve(KEEP)
mkdirSync(folder, { recursive: true })
const dataDir = join(folder, 'crier')
const directory = await openDataDirectory(join(folder, 'postgres'))
const postgres = await startEmbeddedPostgres({
  dataDirectory: directory,
  log: createLog({ level: 'warn' }),
  durable: false,
})
const recorder = new StatementRecorder()
const used = new Set<(typeof BOUNDED)[number]>()

interface Measured {
  readonly status: number
  readonly seconds: number
  readonly body: unknown
  readonly costs: ReadonlyMap<string, Cost>
}

try {
  console.log(`Machine: ${machine()}\n`)
  const staged = await prepare()
  if (ONLY !== 'rest' && (await measureReads(staged)) > 0) process.exitCode = 1
  if (ONLY !== 'reads' && (await measureRest(staged)) > 0) process.exitCode = 1
} finally {
  await postgres.stop()
  directory.close()
  if (KEEP === undefined) rmSync(folder, { recursive: true, force: true })
}

function client(url: string): Client {
  return new Client({ connectionString: url, options: '-c timezone=UTC' })
}

/** Opens a connection for `work`, and closes it afterwards. */
async function connected<T>(work: (direct: Client) => Promise<T>, url = postgres.url): Promise<T> {
  const direct = client(url)
  await direct.connect()
  try {
    return await work(direct)
  } finally {
    await direct.end()
  }
}

/** Starts a server without jobs for `work`, so that only what is measured runs. */
async function withApp<T>(databaseUrl: string, work: (app: App) => Promise<T>): Promise<T> {
  const app = await startApp({ databaseUrl, dataDir, env: { ROLES: 'api' } })
  try {
    return await work(app)
  } finally {
    await app.stop()
  }
}

/** Creates the workspaces and fills the database, unless one was kept. */
async function prepare(): Promise<Staged> {
  const path = join(folder, 'staged.json')
  const kept = readStaged(path)
  if (kept !== undefined) return kept
  const app = await startApp({ databaseUrl: postgres.url, dataDir })
  let staged: Staged
  try {
    staged = await stageReads(app)
  } finally {
    await app.stop()
  }
  if (process.env['FILL'] !== '0') {
    const began = performance.now()
    const { workspaceId, memberId: userId, ownerId } = staged.large
    await connected((direct) => new Fill(direct, { workspaceId, userId, ownerId, scale: SCALE }).run())
    await withApp(postgres.url, ({ composition }) => composition.services.queues.forget())
    await connected((direct) => direct.query('vacuum analyze'))
    console.log(`Filled in ${((performance.now() - began) / 1_000).toFixed(0)} s at scale ${SCALE}.\n`)
  }
  writeStaged(path, staged)
  return staged
}

/** Prints the statements that grow. @returns how many */
function measureReads({ requests, skipped }: Staged): Promise<number> {
  return withApp(postgres.url, (app) =>
    connected(async (direct) => {
      const big = await largeTables(direct)
      const costsOf = async (statements: readonly { text: string; values: readonly unknown[] }[]) => {
        const isSearch = statements.some(({ text }) => text.includes('force_custom_plan'))
        const costs = new Map<string, Cost>()
        for (const [text, executions] of Map.groupBy(statements, (one) => one.text)) {
          for (const { values } of spread(executions)) {
            const cost = await explain(direct, text, values, big, isSearch)
            const before = costs.get(text)
            if (cost !== undefined && (before === undefined || before.blocks < cost.blocks)) costs.set(text, cost)
          }
        }
        return costs
      }
      const measure = async (op: NamedOperation, send: SendOptions): Promise<Measured> => {
        let seconds = 0
        const call = async () => {
          const began = performance.now()
          const reply = LONG.has(op.name) ? await drain(app, op, send) : await app.send(op.route as string, send)
          seconds = (performance.now() - began) / 1_000
          return reply
        }
        if (!LONG.has(op.name)) await call()
        const { result, statements } = await (LONG.has(op.name) ? recorder.once(call) : recorder.during(call))
        const { status, body } = result
        return { status, body, seconds, costs: await costsOf(statements) }
      }
      console.log('| operation | statement | small → large | rows | why |\n|---|---|---|---|---|')
      let listed = 0
      let measured = 0
      const slowest: { readonly name: string; readonly less: number; readonly more: number }[] = []
      const list = (name: string, less: Measured, more: Measured, known: Map<string, number>) => {
        slowest.push({ name, less: less.seconds, more: more.seconds })
        for (const [text, cost] of more.costs) {
          const reasons = reasonsFor(name, text, less.costs.get(text), cost)
          // A filter that does not change what a statement costs is not listed again.
          if (reasons.length === 0 || cost.blocks <= 2 * (known.get(text) ?? 0)) continue
          known.set(text, cost.blocks)
          listed += 1
          const base = less.costs.get(text)
          const shown = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 110)
          const numbers = `${base?.blocks ?? '–'} → ${cost.blocks} blocks, ${base?.ms.toFixed(1) ?? '–'} → ${cost.ms.toFixed(1)} ms`
          console.log(`| \`${name}\` | \`${shown}\` | ${numbers} | ${cost.rows} | ${reasons.join('; ')} |`)
        }
      }
      for (const op of reads) {
        const pair = requests[op.name]
        if (pair === undefined || (READS !== undefined && !READS.includes(op.name))) continue
        const [one, other] = pair
        const known = new Map<string, number>()
        const [less, more] = [await measure(op, one), await measure(op, other)]
        measured += 1
        list(op.name, less, more, known)
        if (more.status !== 200 || WITHOUT_VARIANTS.has(op.name)) continue
        for (const { name, change } of variants(op, pair)) {
          const changed = await measure(op, change(other, more.body))
          const base = await measure(op, change(one, less.body))
          if (changed.status === 200) list(`${op.name}?${name}`, base, changed, known)
          else if (base.status === 200) {
            listed += 1
            console.log(`| \`${op.name}?${name}\` | | | | answers ${changed.status} |`)
          } else continue
          measured += 1
        }
      }
      const unmeasured = Object.entries(skipped).map(([name, why]) => `\`${name}\` (${why})`)
      console.log(`\n${measured} requests of ${reads.length} reads measured, ${listed} statements listed.`)
      for (const { of, why } of used) console.log(`Not listed, of ${String(of)}: ${why}.`)
      if (unmeasured.length > 0) console.log(`Not measured: ${unmeasured.join(', ')}.`)
      console.log('\n| slowest requests | small, ms | large, ms |\n|---|---|---|')
      for (const { name, less, more } of slowest.toSorted((a, b) => b.more - a.more).slice(0, 15)) {
        console.log(`| \`${name}\` | ${(less * 1_000).toFixed(0)} | ${(more * 1_000).toFixed(0)} |`)
      }
      return listed
    }),
  )
}

/** Why a statement is listed. */
function reasonsFor(name: string, text: string, base: Cost | undefined, cost: Cost): string[] {
  const allowed = FEW_BLOCKS + BLOCKS_PER_ROW * cost.rows
  const bounded = BOUNDED.find((one) => one.of.test(name) && one.text.test(text))
  if (bounded !== undefined) used.add(bounded)
  const grows = cost.blocks > allowed && cost.blocks > GROWS * (base?.blocks ?? 0)
  const sorts = cost.sorted > Math.max(MAX_SORTED, BLOCKS_PER_ROW * cost.rows)
  return [
    ...(grows && bounded === undefined ? ['grows'] : []),
    ...(sorts && bounded === undefined ? [`sorts ${cost.sorted} rows`] : []),
    ...(cost.scans.length > 0 ? [`scans ${cost.scans.join(', ')}`] : []),
    ...(cost.ms > MAX_MS ? [`takes ${cost.ms.toFixed(0)} ms`] : []),
  ]
}

/** Prints what is measured beside the reads. @returns how much of it took too long */
async function measureRest({ small, large }: Staged): Promise<number> {
  const started = await startSeconds(postgres.url, dataDir)
  console.log(`\nA server starts in ${started.seconds.toFixed(1)} s, with ${started.cpu.toFixed(1)} s of a processor.`)
  const databaseUrl = KEEP === undefined ? postgres.url : await copied()
  return withApp(databaseUrl, (app) =>
    connected(async (direct) => {
      const query = { workspaceId: small.workspaceId }
      const request = () => app.send('GET /api/posts', { apiKey: small.ownerKey, query })
      const schedules = await runSchedules(app, recorder)
      const deletions = await purge(app, recorder, { direct, request, workspaceId: large.workspaceId })
      await vacuum(direct)
      return schedules + deletions
    }, databaseUrl),
  )
}

/** The address of a copy of the kept database. */
async function copied(): Promise<string> {
  const url = new URL(postgres.url)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  await connected(async (direct) => {
    await direct.query('drop database if exists growth_copy')
    await direct.query(`create database growth_copy template ${name} strategy file_copy`)
  }, url.href)
  url.pathname = '/growth_copy'
  return url.href
}

/** Some of many, evenly. */
function spread<T>(list: readonly T[]): readonly T[] {
  if (list.length <= EXECUTIONS_OF_STATEMENT) return list
  const step = (list.length - 1) / (EXECUTIONS_OF_STATEMENT - 1)
  return Array.from({ length: EXECUTIONS_OF_STATEMENT }, (_, index) => list[Math.round(index * step)] as T)
}

/** Sends a request whose reply is larger than a string can be, and drops the reply. Its first minute is enough. */
async function drain(
  app: App,
  op: NamedOperation,
  { apiKey = '' }: SendOptions,
): Promise<{ status: number; body: unknown }> {
  const [method, path] = (op.route as string).split(' ')
  const sent = httpRequest(`${app.url}${path}`, { method, headers: { 'X-API-Key': apiKey } })
  const status = await new Promise<number>((done, fail) => {
    sent.once('error', fail)
    sent.once('response', (response) => {
      const end = () => done(response.statusCode ?? 0)
      response.once('close', end).once('error', end).resume()
      setTimeout(() => response.destroy(), LONG_MS).unref()
    })
    sent.end()
  })
  return { status, body: undefined }
}

/** Tables with so many rows that reading all of them is a fault. */
async function largeTables(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and reltuples > 5000 and relnamespace = 'public'::regnamespace`,
  )
  return new Set(rows.map(({ name }) => name))
}
