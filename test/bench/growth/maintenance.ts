import type { Client } from 'pg'
import { createLog } from '../../../src/core/log.ts'
import { jobs } from '../../../src/registry/jobs.ts'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import type { App } from '../../support/app.ts'
import { cpuSeconds, start } from '../support/process.ts'
import { START_ENV, START_FLAGS } from '../support/start-settings.ts'
import type { StatementRecorder, Timed } from './recorder.ts'

/** A periodic job and the deletion of a workspace may take long, but none of their statements. */
const MAX_MS = 50
const TIMEOUT_MS = 20 * 60_000

/** Seconds until a server on this database is ready, and its processor time until then. */
export async function startSeconds(
  databaseUrl: string,
  dataDir: string,
): Promise<{ readonly seconds: number; readonly cpu: number }> {
  const began = performance.now()
  const server = await start(
    [...START_FLAGS, new URL('../../../src/main.ts', import.meta.url).pathname],
    /crier ready/,
    {
      ...START_ENV,
      PORT: String(await freeLoopbackPort()),
      RTMP_PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      REDIS_PRIVATE: '0',
      ROLES: 'api',
    },
  )
  const seconds = (performance.now() - began) / 1_000
  const cpu = cpuSeconds(server.pid)
  await server.stop()
  return { seconds, cpu }
}

/** Runs each schedule once. Prints its statements, and returns how many took too long. */
export async function runSchedules(app: App, recorder: StatementRecorder): Promise<number> {
  console.log('\n| schedule | statements | together, s | longest, ms | which |\n|---|---|---|---|---|')
  let slow = 0
  for (const declared of jobs) {
    if (declared.cron === undefined) continue
    const statements = await recorder.timed(async () => {
      try {
        await declared.run({
          ...app.composition.services,
          data: {},
          workspaceId: undefined,
          attempt: { id: 'bench', jobId: 'bench', number: 1, of: 1 },
          signal: AbortSignal.timeout(TIMEOUT_MS),
          log: createLog({ level: 'silent' }),
          progress: () => undefined,
          effect: (work: Parameters<App['database']['transaction']>[0]) => app.database.transaction(work),
          complete: async () => undefined,
        })
      } catch (error) {
        console.log(`${declared.name} failed: ${(error as Error).message.slice(0, 200)}`)
      }
    })
    slow += row(declared.name, statements)
  }
  return slow
}

/** Purges the large workspace, while requests read and write in the small one. */
export async function purge(
  app: App,
  recorder: StatementRecorder,
  { direct, request, workspaceId }: { direct: Client; request: () => Promise<unknown>; workspaceId: string },
): Promise<number> {
  const idle = await latencies(request, wait(10_000))
  await direct.query(`update workspaces set deleted_at = now(), purge_at = now() - interval '1 minute' where id = $1`, [
    workspaceId,
  ])
  const began = performance.now()
  let done: Promise<unknown> = Promise.resolve()
  let beside: readonly number[] = []
  const statements = await recorder.timed(async () => {
    done = app.composition.services.workspaces.service.purgeDue(AbortSignal.timeout(TIMEOUT_MS))
    beside = await latencies(request, done)
    await done
  })
  const seconds = ((performance.now() - began) / 1_000).toFixed(0)
  console.log(`\nThe large workspace was purged in ${seconds} s by ${statements.length} statements.`)
  console.log('\n| requests of another workspace | count | p50, ms | p99, ms | longest, ms |\n|---|---|---|---|---|')
  for (const [name, found] of [
    ['before', idle],
    ['during the purge', beside],
  ] as const) {
    const at = (part: number) => (found[Math.floor((found.length - 1) * part)] ?? 0).toFixed(1)
    console.log(`| ${name} | ${found.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`)
  }
  console.log('\n| purge, by table | statements | together, s | longest, ms | which |\n|---|---|---|---|---|')
  const tables = Map.groupBy(statements, ({ text }) => /^\s*delete from "?(\w+)/i.exec(text)?.[1])
  let slow = 0
  for (const [table, found] of tables) if (table !== undefined && found.length > 1) slow += row(table, found)
  return slow
}

/** How long `vacuum` takes after all that, and what it leaves of the largest tables. */
export async function vacuum(direct: Client): Promise<void> {
  const size = () =>
    direct.query<{ size: string }>(`select pg_size_pretty(pg_database_size(current_database())) as size`)
  const before = (await size()).rows[0]?.size
  const began = performance.now()
  await direct.query('vacuum analyze')
  const seconds = ((performance.now() - began) / 1_000).toFixed(0)
  console.log(
    `\nA vacuum of all tables took ${seconds} s; the database had ${before} and has ${(await size()).rows[0]?.size}.`,
  )
}

/** Prints a row of statements. @returns how many took too long */
function row(name: string, statements: readonly Timed[]): number {
  const sorted = statements.toSorted((a, b) => b.ms - a.ms)
  const slow = sorted.filter(({ ms }) => ms > MAX_MS)
  const total = statements.reduce((sum, { ms }) => sum + ms, 0) / 1_000
  const [longest] = sorted
  const text = (longest?.text ?? '').replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 90)
  const which = slow.length === 0 ? '' : `${slow.length} of more than ${MAX_MS} ms; \`${text}\``
  console.log(
    `| \`${name}\` | ${statements.length} | ${total.toFixed(2)} | ${longest?.ms.toFixed(0) ?? '–'} | ${which} |`,
  )
  return slow.length
}

/** The durations of requests, one after the other, until `end`, sorted. */
async function latencies(request: () => Promise<unknown>, end: Promise<unknown>): Promise<readonly number[]> {
  const found: number[] = []
  const state = { ended: false }
  const stop = () => {
    state.ended = true
  }
  end.then(stop, stop)
  while (!state.ended) {
    const began = performance.now()
    await request()
    found.push(performance.now() - began)
    await wait(20)
  }
  return found.toSorted((a, b) => a - b)
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
