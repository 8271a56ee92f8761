/**
 * How operations on posts grow with the scheduled posts of a workspace: `npm run bench:posts-scale`.
 *
 * Two workspaces on one server have 1,000 and 100,000 scheduled posts within the same year, at three accounts each. The
 * posts are copies of 1,000 that were made by requests, with their targets, versions and jobs. So a month of the year has
 * 100 times as many posts in the large workspace, and the dashboard counts them all. The month after the year has 100 posts
 * in both, which shows what the rest of the workspace costs. Each operation is called on both in turn, one request at a
 * time, so that the state of the machine is the same for both. The figures are medians.
 * `SMALL`, `LARGE` and `REQUESTS` set other numbers, `ONLY=search,dashboard` selects operations. Ends with an error if an
 * operation takes more than 1.5 times as long in the large workspace.
 */
import { randomOf } from '../support/random.ts'
import { machine, median } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const SMALL = Number(process.env['SMALL'] ?? 1_000)
const LARGE = Number(process.env['LARGE'] ?? 100_000)
const REQUESTS = Number(process.env['REQUESTS'] ?? 100)
/** Words in the names of the operations to measure, separated by commas; all by default. */
const ONLY = process.env['ONLY']?.split(',')
const MAX = 1.5
const PLATFORMS = ['mastodon', 'bluesky', 'x']
const DAY = 86_400_000
const YEAR = 365 * DAY
const BATCH = 100

const server = await startBenchServer({ SANDBOX: '1', SANDBOX_PORT: '0' })
const start = Date.now() + DAY

interface Side {
  readonly workspaceId: string
  readonly accountIds: readonly string[]
  /** Posts to be rescheduled. */
  readonly ids: readonly string[]
}

interface Request {
  readonly method: string
  readonly path: string
  readonly body?: object
}

async function send({ body, method, path }: Request): Promise<unknown> {
  const reply = await fetch(server.url + path, {
    method,
    headers: { 'x-api-key': server.apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 500)}`)
  return (JSON.parse(text) as { data: unknown }).data
}

const at = (part: number) => new Date(start + Math.floor(part * YEAR)).toISOString()

/** A workspace with an account of each platform and a queue, without posts. */
async function workspace(name: string): Promise<Pick<Side, 'workspaceId' | 'accountIds'>> {
  const made = (await send({ method: 'POST', path: '/api/workspaces', body: { name, timezone: 'UTC' } })) as Made
  const workspaceId = made._id
  const accountIds: string[] = []
  for (const platform of PLATFORMS) {
    const body = { workspaceId, platform, sandbox: true }
    accountIds.push(((await send({ method: 'POST', path: '/api/social-accounts', body })) as Made)._id)
  }
  const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
  const slots = days.flatMap((weekday) => ['09:00', '12:00', '15:00', '18:00'].map((time) => ({ weekday, time })))
  await send({ method: 'PUT', path: '/api/posts/queue', body: { workspaceId, timezone: 'UTC', slots } })
  return { workspaceId, accountIds }
}

/** A workspace with scheduled posts, made by requests. Twenty of them have a rare word. */
async function template(): Promise<string> {
  const { accountIds, workspaceId } = await workspace('Template')
  const next = randomOf(1)
  for (let done = 0; done < SMALL; done += BATCH) {
    const posts = Array.from({ length: Math.min(BATCH, SMALL - done) }, (_, index) => {
      const number = done + index
      return {
        content: `Post ${number} of the launch: word${number % 97}`,
        targets: [{ accountId: accountIds[number % accountIds.length] }],
        scheduledFor: at(next()),
      }
    })
    await send({ method: 'POST', path: '/api/posts/bulk', body: { workspaceId, posts } })
  }
  return workspaceId
}

/** A workspace with this many scheduled posts: copies of those of the template, at other times of the year. */
async function fill(name: string, count: number, from: string): Promise<Side> {
  const made = await workspace(name)
  const parameters = [from, made.workspaceId, Math.round(count / SMALL), new Date(start).toISOString()]
  for (const statement of COPIES) await server.pool.query(statement, parameters)
  const { rows } = await server.pool.query<{ id: string }>(
    'select id from posts where workspace_id = $1 order by md5(id::text) limit 500',
    [made.workspaceId],
  )
  // The first of each twentieth part.
  await server.pool.query(
    `update posts set search_text = search_text || ' needle' where id in (
       select id from posts where workspace_id = $1 order by id limit 20)`,
    [made.workspaceId],
  )
  await fillMonth(made)
  return { ...made, ids: rows.map(({ id }) => id) }
}

/** The same posts in the month after the year, in every workspace. */
async function fillMonth({ accountIds, workspaceId }: Pick<Side, 'workspaceId' | 'accountIds'>): Promise<void> {
  const posts = Array.from({ length: BATCH }, (_, index) => ({
    content: `Post ${index} of the month`,
    targets: [{ accountId: accountIds[index % accountIds.length] }],
    scheduledFor: at(1 + ((index + 0.5) * 30) / 365 / BATCH),
  }))
  await send({ method: 'POST', path: '/api/posts/bulk', body: { workspaceId, posts } })
}

/** An id that is `k` minutes older, so that the copies have the texts in the same order again and again. */
const ID = (id: string) => {
  const digits = `replace(${id}::text, '-', '')`
  const time = `lpad(to_hex(('x' || left(${digits}, 12))::bit(48)::bigint - k * 60000), 12, '0')`
  return `(${time} || substr(${digits}, 13, 5) || substr(md5(${id}::text || k || $2::text), 18))::uuid`
}
const TIME = (time: string) =>
  `date_trunc('second', $4::text::timestamptz + make_interval(secs => mod(extract(epoch from ${time} - $4::text::timestamptz) + k * 19490123.0, 31536000)::float8))`
/** The wall clock of a time. The server would move posts whose wall clock has another instant. */
const LOCAL = (time: string) => `to_char(${TIME(time)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')`

/** Copies rows of workspace $1 to $2, $3 times, within the year from $4. */
const COPIES = [
  `insert into posts select r.* from generate_series(1, $3::integer) k, posts p
     join social_accounts a on a.workspace_id = $2::text::uuid and a.platform = p.platforms[1],
     lateral jsonb_populate_record(p, jsonb_build_object('id', ${ID('p.id')}, 'workspace_id', $2::text,
       'account_ids', jsonb_build_array(a.id), 'scheduled_at', ${TIME('p.scheduled_at')},
       'local_time', ${LOCAL('p.scheduled_at')})) r
   where p.workspace_id = $1::uuid`,
  `insert into post_targets select r.* from generate_series(1, $3::integer) k, post_targets t
     join social_accounts a on a.workspace_id = $2::text::uuid and a.platform = t.platform,
     lateral jsonb_populate_record(t, jsonb_build_object('id', ${ID('t.id')}, 'post_id', ${ID('t.post_id')},
       'workspace_id', $2::text, 'account_id', a.id, 'scheduled_at', ${TIME('t.scheduled_at')},
       'local_time', ${LOCAL('t.scheduled_at')})) r
   where t.workspace_id = $1::uuid`,
  `insert into post_versions select r.* from generate_series(1, $3::integer) k, post_versions v,
     lateral jsonb_populate_record(v, jsonb_build_object('id', ${ID('v.id')}, 'post_id', ${ID('v.post_id')},
       'workspace_id', $2::text)) r
   where v.workspace_id = $1::uuid and $4::text <> ''`,
  `insert into outbox select r.* from generate_series(1, $3::integer) k, outbox o,
     lateral jsonb_populate_record(o, jsonb_build_object('id', ${ID('o.id')}, 'workspace_id', $2::text,
       'key', null, 'run_at', ${TIME('o.run_at')})) r
   where o.workspace_id = $1::uuid and o.name = 'posts.publish'`,
]

interface Made {
  readonly _id: string
}

type Operation = (side: Side, count: number) => Request

const targetsOf = ({ accountIds }: Side) => accountIds.map((accountId) => ({ accountId }))
// Seeded, so that both sides get the same times.
const times = randomOf(2)
const list = (query: string): Operation => {
  return ({ workspaceId }) => ({ method: 'GET', path: `/api/posts?workspaceId=${workspaceId}&${query}` })
}
const month = `from=${at(0.2)}&to=${at(0.2 + 30 / 365)}`
const equalMonth = `from=${at(1)}&to=${at(1 + 30 / 365)}`

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'create a scheduled post with three targets': (side, count) => {
    const scheduledFor = at(times())
    const body = { workspaceId: side.workspaceId, content: `More ${count}`, targets: targetsOf(side), scheduledFor }
    return { method: 'POST', path: '/api/posts', body }
  },
  'create a draft with three targets': (side, count) => {
    const body = { workspaceId: side.workspaceId, content: `Draft ${count}`, targets: targetsOf(side) }
    return { method: 'POST', path: '/api/posts', body }
  },
  reschedule: (side, count) => {
    const path = `/api/posts/${side.ids[count % side.ids.length]}/reschedule`
    return { method: 'POST', path, body: { scheduledFor: at(times()) } }
  },
  'create at the next free slot': (side, count) => {
    const body = { workspaceId: side.workspaceId, content: `Slot ${count}`, targets: targetsOf(side), queue: true }
    return { method: 'POST', path: '/api/posts', body }
  },
  'preview the next 20 slots': ({ accountIds, workspaceId }) => {
    const query = `workspaceId=${workspaceId}&accountIds=${accountIds.join(',')}`
    return { method: 'GET', path: `/api/posts/queue/preview?${query}` }
  },
  'calendar of a month, 20 posts': list(`sort=scheduledFor&${month}&limit=20`),
  'calendar of a month of an account, 20 posts': (side) => {
    const query = `sort=scheduledFor&${month}&limit=20&accountId=${side.accountIds[0]}&workspaceId=${side.workspaceId}`
    return { method: 'GET', path: `/api/posts?${query}` }
  },
  'calendar of a month with 100 posts in both, all of them': list(`sort=scheduledFor&${equalMonth}&limit=100`),
  'newest 20 posts': list('limit=20'),
  'newest 20 scheduled posts': list('limit=20&status=scheduled'),
  'search of a rare word': list('q=needle&limit=20'),
  'search of a frequent word': list('q=launch&limit=20'),
  'search of two words': list('q=launch%20word7&limit=20'),
  'upcoming, 7 days': ({ workspaceId }) => ({ method: 'GET', path: `/api/posts/upcoming?workspaceId=${workspaceId}` }),
  'dashboard, last 30 days': ({ workspaceId }) => {
    return { method: 'GET', path: `/api/posts/dashboard?workspaceId=${workspaceId}` }
  },
  'dashboard of a month with 100 posts in both': ({ workspaceId }) => {
    return { method: 'GET', path: `/api/posts/dashboard?workspaceId=${workspaceId}&${equalMonth}` }
  },
  [`dashboard of a month with ${Math.round(LARGE / SMALL)} times as many posts`]: ({ workspaceId }) => {
    return { method: 'GET', path: `/api/posts/dashboard?workspaceId=${workspaceId}&${month}` }
  },
}

/** @returns milliseconds */
async function timed(request: Request): Promise<number> {
  const before = performance.now()
  await send(request)
  return performance.now() - before
}

try {
  console.log(`Machine: ${machine()}\n`)
  const from = await template()
  const small = await fill('Small', SMALL, from)
  const large = await fill('Large', LARGE, from)
  await server.pool.query('vacuum analyze')
  console.log(`| operation | ${SMALL} posts, ms | ${LARGE} posts, ms | ratio |\n|---|---|---|---|`)
  const grown: string[] = []
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (ONLY?.every((word) => !name.includes(word)) === true) continue
    const found: [number[], number[]] = [[], []]
    for (let count = 0; count < REQUESTS + 10; count += 1) {
      for (const [index, side] of [small, large].entries()) {
        const ms = await timed(operation(side, count))
        // The first ones prepare statements and fill caches.
        if (count >= 10) found[index as 0 | 1].push(ms)
      }
    }
    const [one, other] = found.map((values) => median(values)) as [number, number]
    const ratio = other / one
    console.log(`| ${name} | ${one.toFixed(2)} | ${other.toFixed(2)} | **${ratio.toFixed(2)}** |`)
    if (ratio > MAX) grown.push(name)
  }
  if (grown.length > 0) {
    console.log(`\nMore than ${MAX} times as slow: ${grown.join(', ')}.`)
    process.exitCode = 1
  }
} finally {
  await server.stop()
}
