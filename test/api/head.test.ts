import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/core/clock.ts'
import { walk } from '../../src/core/operation.ts'
import { api } from '../../src/registry/api.ts'
import { startApp, type App } from '../support/app.ts'
import { stageExample } from '../support/matrix.ts'
import type { SendOptions } from '../support/send.ts'
import type { Stage } from '../support/stage.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

/** HEAD changes nothing: every GET is called by HEAD, and no row of the database differs afterwards. */

let app: App
let stage: Stage
let admin: string

const gets = walk(api).filter(({ method }) => method === 'GET')

beforeAll(async () => {
  // Time stands still, so no schedule runs.
  app = await startApp({ clock: new ManualClock() })
  const world = new World(app)
  const owner = await world.user('ada', { plan: 'business' })
  const workspaceId = await world.workspace('acme', 'ada')
  const caller = await world.user('colleague')
  await world.member('acme', 'colleague', { role: 'owner' })
  stage = { app, workspaceId, owner, caller }
  admin = (await world.user('root', { admin: true })).apiKey
})
afterAll(() => app?.stop())

/** A fingerprint of the rows of each table. */
async function fingerprints(): Promise<Map<string, string>> {
  const tables = await app.database.rows<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`,
  )
  const texts = tables.map(
    ({ name }) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(sum(hashtext(t::text)::bigint), 0) as rows from ${name} t`,
  )
  const rows = await app.database.rows<{ name: string; rows: string }>(texts.join(' union all '))
  return new Map(rows.map((row) => [row.name, row.rows]))
}

/** The fingerprints once the jobs of the fixtures have ended. */
async function settled(): Promise<Map<string, string>> {
  let known = new Map<string, string>()
  await waitFor(async () => {
    const last = known
    known = await fingerprints()
    // The scheduler of publications runs once after the start.
    return known.get('publication_beats') !== '0 0' && [...known].every(([name, rows]) => last.get(name) === rows)
  })
  return known
}

/** Rows that are no effect of a request: each with the reason. */
const NO_EFFECT = new Set([
  // The last use of the key that was sent.
  'api_keys',
  // Keys of the server, made when they are first read.
  'platform_keys',
  'push_keys',
  // What was last read from a platform: a cache.
  'social_account_reports',
  // Positions of deliveries, which run in the background.
  'webhooks',
])

test('a HEAD request of every GET changes no row', async () => {
  const requests: [string, SendOptions][] = []
  for (const op of gets) {
    const { send } = await stageExample(op, stage)
    requests.push([op.pattern, op.access === 'admin' ? { ...send, apiKey: admin } : send])
  }
  const before = await settled()
  expect(before.size).toBeGreaterThan(50)
  const statuses: number[] = []
  for (const [pattern, sent] of requests) statuses.push((await app.send(`HEAD ${pattern}`, sent)).status)
  expect(statuses.filter((status) => status >= 500)).toEqual([])
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(gets.length / 2)
  const after = await fingerprints()
  const changed = [...after].filter(([name, rows]) => before.get(name) !== rows && !NO_EFFECT.has(name))
  expect(changed.map(([name]) => name)).toEqual([])
})

test('a GET that changes something refuses HEAD, and does not list it', async () => {
  const changing = gets.filter(({ changes }) => changes === true)
  expect(changing.map(({ name }) => name)).toContain('oauthCallback')
  for (const op of changing) {
    const { send } = await stageExample(op, stage)
    const reply = await app.send(`HEAD ${op.pattern}`, send)
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, expect.not.stringContaining('HEAD')])
  }
})
