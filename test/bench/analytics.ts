/**
 * How fast analytics are read and rolled up, and how that grows with the samples: `npm run bench:analytics`.
 *
 * `SAMPLES` names numbers of samples in millions, in ascending order (`1,5` by default; `1,50` takes about 20 minutes and
 * 20 GB in the temporary folder). The database grows from one to the next. Every workspace has five accounts and 300
 * posts of the last year with six figures each, which were read 60 times: hourly on their first day, then ever more
 * rarely. So more samples are more workspaces. The rows are written by SQL into the tables of the service; one workspace
 * is rolled up by its own code.
 *
 * Reads are requests to random workspaces, one at a time. Ends with an error if a read takes more than 100 ms at p95, if
 * fewer than 50,000 samples a second are rolled up, or if a read takes more than twice as long at p95 with the most
 * samples as with the fewest.
 */
import { readFileSync } from 'node:fs'
import { rollUp } from '../../src/domains/publishing/analytics/storage/rollup.ts'
import type { Sql } from '../../src/core/sql.ts'
import { randomOf } from '../support/random.ts'
import { machine } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const STEPS = (process.env['SAMPLES'] ?? '1,5').split(',').map((millions) => Number(millions) * 1_000_000)
const REQUESTS = Number(process.env['REQUESTS'] ?? 200)
const MAX_MS = 100
const MIN_ROLLED = 50_000
const MAX_GROWTH = 2
const ACCOUNTS = 5
const POSTS = 60
const FIGURES = ['views', 'reach', 'likes', 'comments', 'shares', 'saves']
const READINGS = 60
const PER_WORKSPACE = ACCOUNTS * POSTS * FIGURES.length * READINGS + ACCOUNTS * 3 * 365 * 4
/** Workspaces that one statement fills: about two million samples. */
const BATCH = 15
const DAY = 86_400_000

const server = await startBenchServer({ SANDBOX: '1', SANDBOX_PORT: '0', ANALYTICS_SCHEDULE: '0' })
const { pool } = server

/** Runs a statement without the checks of foreign keys, which would take most of the time. */
async function fill(text: string, values: readonly unknown[] = []): Promise<void> {
  await pool.query('set session_replication_role = replica; set synchronous_commit = off')
  await pool.query(text, [...values])
  await pool.query('set session_replication_role = origin; set synchronous_commit = on')
}

/** The workspace that all others are copied from, with accounts and without figures. */
async function template(): Promise<void> {
  for (let made = 0; made < ACCOUNTS; made += 1) {
    const body = { workspaceId: server.workspaceId, platform: 'instagram', sandbox: true }
    await server.call('/api/social-accounts', body)
  }
  const now = new Date()
  const months = Array.from({ length: 16 }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2 - back)).toISOString().slice(0, 7),
  )
  for (const month of months) {
    const next = new Date(Date.parse(`${month}-01T00:00:00Z`) + 32 * DAY).toISOString().slice(0, 7)
    await pool.query(
      `create table if not exists analytics_samples_${month.replace('-', '_')} partition of analytics_samples
       for values from ('${month}-01T00:00:00Z') to ('${next}-01T00:00:00Z')`,
    )
  }
}

/** Statements that add the workspaces from number $1 to $2. Ids follow from the numbers. */
const WORKSPACES = [
  `insert into workspaces select r.* from generate_series($1::integer, $2) k, workspaces w,
     lateral jsonb_populate_record(w, jsonb_build_object('id', md5('w' || k)::uuid, 'name', 'W' || k)) r
   where w.id = $3`,
  `insert into workspace_members select r.* from generate_series($1::integer, $2) k, workspace_members m,
     lateral jsonb_populate_record(m, jsonb_build_object('workspace_id', md5('w' || k)::uuid)) r
   where m.workspace_id = $3`,
  `insert into social_accounts select r.* from generate_series($1::integer, $2) k
     cross join (select id, row_number() over (order by id) as number from social_accounts where workspace_id = $3) a
     join social_accounts one on one.id = a.id,
     lateral jsonb_populate_record(one, jsonb_build_object('id', md5('a' || k || '-' || a.number)::uuid,
       'workspace_id', md5('w' || k)::uuid, 'remote_id', 'r' || k || '-' || a.number)) r`,
  `insert into analytics_accounts (account_id, workspace_id, platform, zone, started_at, collected_at, next_at, updated_at)
   select md5('a' || k || '-' || a)::uuid, md5('w' || k)::uuid, 'instagram', 'UTC', now() - interval '366 days', now(),
     now() + interval '1 year', now()
   from generate_series($1::integer, $2) k, generate_series(1, ${ACCOUNTS}) a where $3::uuid is not null`,
  `insert into analytics_content (id, workspace_id, account_id, platform, remote_id, remote, origin, text, published_at,
     views, reach, likes, comments, shares, saves, collected_at, created_at, updated_at)
   select md5('c' || k || '-' || a || '-' || c)::uuid, md5('w' || k)::uuid, md5('a' || k || '-' || a)::uuid, 'instagram',
     'p' || c, '{"id":"p"}', 'elsewhere', 'Post ' || c, now() - make_interval(hours => c * 8760 / ${POSTS + 1}),
     60 * c, 50 * c, 9 * c, 7 * c, 5 * c, 3 * c, now(), now(), now()
   from generate_series($1::integer, $2) k, generate_series(1, ${ACCOUNTS}) a, generate_series(1, ${POSTS}) c
   where $3::uuid is not null`,
  `insert into analytics_series (account_id, content_id, subject_id, figure, from_zero)
   select account_id, c.id, c.id, figure, true
   from generate_series($1::integer, $2) k join analytics_content c on c.workspace_id = md5('w' || k)::uuid,
     unnest('{${FIGURES.join()}}'::text[]) figure
   where $3::uuid is not null`,
  `insert into analytics_series (account_id, subject_id, figure, from_zero)
   select a.account_id, a.account_id, figure, false
   from generate_series($1::integer, $2) k join analytics_accounts a on a.workspace_id = md5('w' || k)::uuid,
     unnest('{followers,following,contentCount}'::text[]) figure
   where $3::uuid is not null`,
]

/** The series of a batch have ids that follow each other, so that nothing but their rows is read. */
const SERIES = `
  select s.id, c.published_at from analytics_series s
  left join analytics_content c on c.id = s.content_id
  where s.id between $1::bigint and $2::bigint`

/** Hourly on the first day of a post, then ever more rarely until now; of an account every six hours. */
const SAMPLES = `
  insert into analytics_samples (series_id, at, received_at, value, source)
  select s.id, t.at, t.at, t.n * (1 + s.id % 7), 'list'
  from (${SERIES}) s, lateral (
    select n, s.published_at + case when n <= 24 then make_interval(hours => n)
      else interval '1 day' + (now() - interval '1 day' - s.published_at) * power((n - 24) / 36.0, 1.6)::float8 end as at
    from generate_series(1, ${READINGS}) n where s.published_at is not null
    union all
    select n, date_trunc('day', now()) - make_interval(hours => 6 * (1460 - n)) from generate_series(1, 1460) n
    where s.published_at is null
  ) t`

/** The same as `rollUp` writes, for many workspaces at once. */
const DAYS = `
  insert into analytics_days (series_id, day, value, gained)
  select series_id, day, value, value - lag(value) over (partition by series_id order by day)
  from (
    select series_id, floor(extract(epoch from at) / 86400)::integer as day, max(value) as value
    from analytics_samples where series_id between $1::bigint and $2::bigint group by 1, 2
  ) d`

const ACCOUNT_DAYS = `
  insert into analytics_account_days (account_id, figure, day, gained, content_count)
  select s.account_id, s.figure, d.day, sum(coalesce(d.gained, 0)), count(*)
  from analytics_series s join analytics_days d on d.series_id = s.id
  where s.id between $1::bigint and $2::bigint and d.series_id between $1::bigint and $2::bigint
    and s.content_id is not null
  group by 1, 2, 3`

const ACCOUNT_PERIODS = ['week', 'month'].map(
  (unit) => `
  insert into analytics_account_periods (account_id, figure, unit, first, value, gained)
  select account_id, figure, '${unit}', date_trunc('${unit}', date '1970-01-01' + day)::date - date '1970-01-01' as first,
    (array_agg(value order by day desc))[1], sum(gained)
  from (
    select s.account_id, s.figure, d.day, d.value, d.gained
    from analytics_series s join analytics_days d on d.series_id = s.id
    where s.id between $1::bigint and $2::bigint and s.content_id is null
    union all
    select account_id, figure, day, null, gained from analytics_account_days
    where account_id in (select account_id from analytics_series where id between $1::bigint and $2::bigint)
  ) one
  group by account_id, figure, first`,
)

/** While rows are added, the log of PostgreSQL need not survive a crash, and checkpoints are rare. */
async function whileAdding(work: () => Promise<void>): Promise<void> {
  const settings = { full_page_writes: 'off', max_wal_size: "'3GB'" }
  for (const [name, value] of Object.entries(settings)) await pool.query(`alter system set ${name} = ${value}`)
  await pool.query('select pg_reload_conf()')
  await work()
  await pool.query('vacuum analyze')
  for (const name of Object.keys(settings)) await pool.query(`alter system reset ${name}`)
  await pool.query('select pg_reload_conf()')
  await pool.query('checkpoint')
}

/** Adds the workspaces from number \`from\` to \`to\`. */
async function add(from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += BATCH) {
    const last = Math.min(first + BATCH - 1, to)
    const newest = 'select coalesce(max(id), 0) as id from analytics_series'
    const before = await pool.query<{ id: string }>(newest)
    for (const text of WORKSPACES) await fill(text, [first, last, server.workspaceId])
    const after = await pool.query<{ id: string }>(newest)
    const ids = [Number(before.rows[0]?.id) + 1, after.rows[0]?.id]
    for (const text of [SAMPLES, DAYS, ACCOUNT_DAYS, ...ACCOUNT_PERIODS]) await fill(text, ids)
    console.error(`${last} of ${to} workspaces`)
  }
}

/** The seconds of processor time that the connection's process of PostgreSQL has used. Undefined where Linux does not say. */
async function processorSeconds(): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  try {
    const fields = readFileSync(`/proc/${rows[0]?.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    // utime and stime, in hundredths of a second.
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return undefined
  }
}

/** Rolls one workspace up again by the code of the service. @returns samples a second, and a second of the processor */
async function rolled(number: number): Promise<{ rate: number; ofProcessor: number }> {
  const { rows } = await pool.query<{ id: string; account_id: string }>(
    `select s.id, s.account_id from analytics_accounts a join analytics_series s on s.account_id = a.account_id
     where a.workspace_id = md5('w' || $1::text)::uuid`,
    [String(number)],
  )
  const accounts = Map.groupBy(rows, (row) => row.account_id)
  await pool.query('delete from analytics_days where series_id = any($1::bigint[])', [rows.map(({ id }) => id)])
  for (const table of ['analytics_account_days', 'analytics_account_periods']) {
    await pool.query(`delete from ${table} where account_id = any($1::uuid[])`, [[...accounts.keys()]])
  }
  const run = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rowCount ?? 0
  const row = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows[0] as unknown
  const last = Math.floor(Date.now() / DAY)
  const usedBefore = await processorSeconds()
  const before = performance.now()
  for (const [accountId, series] of accounts) {
    const seriesIds = series.map(({ id }) => Number(id))
    await rollUp({ row, run } as unknown as Sql, {
      accountId,
      seriesIds,
      first: last - 370,
      last: last + 1,
      zone: 'UTC',
    })
  }
  const seconds = (performance.now() - before) / 1_000
  const used = await processorSeconds()
  const ofProcessor = used === undefined || usedBefore === undefined ? Number.NaN : PER_WORKSPACE / (used - usedBefore)
  return { rate: PER_WORKSPACE / seconds, ofProcessor }
}

interface Place {
  readonly workspaceId: string
  readonly contentId: string
}

const inWorkspace =
  (path: string) =>
  ({ workspaceId }: Place) =>
    `/api/analytics/${path}${path.includes('?') ? '&' : '?'}workspaceId=${workspaceId}`
const YEAR = `from=${new Date(Date.now() - 364 * DAY).toISOString().slice(0, 10)}`

const READS: Readonly<Record<string, (place: Place) => string>> = {
  'accounts, 30 days, compared': inWorkspace('platforms?compare=true'),
  'accounts, a year, compared': inWorkspace(`platforms?compare=true&${YEAR}`),
  'followers, 30 days': inWorkspace('followers'),
  'followers, a year by day': inWorkspace(`followers?${YEAR}`),
  'followers, a year by month': inWorkspace(`followers?interval=month&${YEAR}`),
  'likes of accounts, a year by week': inWorkspace(`platforms/series?figure=likes&interval=week&${YEAR}`),
  'posts, newest': inWorkspace(`content?limit=50&${YEAR}`),
  'posts, most engagements': inWorkspace(`content?limit=50&sort=engagements&${YEAR}`),
  'one post': ({ contentId }) => `/api/analytics/content/${contentId}`,
  'likes of a post': ({ contentId }) => `/api/analytics/content/${contentId}/series?figure=likes`,
  audience: inWorkspace('audience'),
  'report data': inWorkspace('report-data'),
  'best times': inWorkspace('best-times'),
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? 0
}

/** p50 and p95 in milliseconds by read. */
async function measure(workspaces: number): Promise<Map<string, readonly [number, number]>> {
  const found = new Map<string, readonly [number, number]>()
  // Seeded, so that each run reads the same workspaces.
  const random = randomOf(1)
  const { rows } = await pool.query<{ w: string; c: string }>(
    `select md5('w' || k)::uuid as w, md5('c' || k || '-1-7')::uuid as c from generate_series(1, $1::integer) k`,
    [workspaces],
  )
  for (const [name, read] of Object.entries(READS)) {
    const times: number[] = []
    for (let count = 0; count < REQUESTS + 20; count += 1) {
      const { c = '', w = '' } = rows[Math.floor(random() * workspaces)] ?? {}
      const before = performance.now()
      await server.call(read({ workspaceId: w, contentId: c }))
      // The first ones prepare statements.
      if (count >= 20) times.push(performance.now() - before)
    }
    found.set(name, [quantile(times, 0.5), quantile(times, 0.95)])
  }
  return found
}

const faults: string[] = []
try {
  console.log(`Machine: ${machine()}\n`)
  await template()
  const results: Map<string, readonly [number, number]>[] = []
  let workspaces = 0
  for (const samples of STEPS) {
    const next = Math.max(1, Math.round(samples / PER_WORKSPACE))
    const first = workspaces + 1
    await whileAdding(() => add(first, next))
    workspaces = next
    const rates = []
    for (let number = 1; number <= Math.min(3, workspaces); number += 1) rates.push(await rolled(number))
    const rate = quantile(
      rates.map((one) => one.rate),
      0.5,
    )
    const ofProcessor = quantile(
      rates.map((one) => one.ofProcessor),
      0.5,
    )
    const { rows } = await pool.query<{ size: string }>(
      'select pg_size_pretty(pg_database_size(current_database())) as size',
    )
    console.log(
      `${Math.round((workspaces * PER_WORKSPACE) / 1_000).toLocaleString('en')} thousand samples of ${workspaces} workspaces, ${rows[0]?.size}: ${Math.round(rate).toLocaleString('en')} samples a second rolled up, ${Math.round(ofProcessor).toLocaleString('en')} a second of PostgreSQL’s processor time`,
    )
    if (rate < MIN_ROLLED) faults.push(`fewer than ${MIN_ROLLED} samples a second are rolled up`)
    results.push(await measure(workspaces))
  }
  const heads = STEPS.map((samples) => `${samples / 1_000_000} million, p50 | p95`)
  console.log(`\n| read, ms | ${heads.join(' | ')} | growth at p95 |\n|---|${'---|---|'.repeat(STEPS.length)}---|`)
  for (const name of Object.keys(READS)) {
    const all = results.map((one) => one.get(name) ?? [0, 0])
    const [first, last] = [all[0]?.[1] ?? 0, all.at(-1)?.[1] ?? 0]
    const growth = last / first
    console.log(
      `| ${name} | ${all
        .flat()
        .map((ms) => ms.toFixed(1))
        .join(' | ')} | ${growth.toFixed(2)} |`,
    )
    if (last > MAX_MS) faults.push(`${name} takes more than ${MAX_MS} ms`)
    if (growth > MAX_GROWTH) faults.push(`${name} grows more than ${MAX_GROWTH} times`)
  }
  if (faults.length > 0) {
    console.log(`\nMissed: ${faults.join('; ')}.`)
    process.exitCode = 1
  }
} finally {
  await server.stop()
}
