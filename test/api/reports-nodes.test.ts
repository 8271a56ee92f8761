import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY, ManualClock } from '../../src/core/clock.ts'
import { startSchedule } from '../../src/domains/publishing/reports/turns.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { seedMember, seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/** Two nodes with one database and one Redis. Both run jobs, and one stops while a report is made. */

let redis: TestRedis
let here: App
let there: App
let owner: SeededUser
let workspaceId: string
const addresses: string[] = []
const clock = new ManualClock(Date.parse('2026-11-30T08:00:00Z'))

beforeAll(async () => {
  redis = await startRedis()
  const options = { clock, jobTimes: QUICK, redisUrl: redis.url, env: { ROLES: 'api,jobs' } }
  here = await startApp(options)
  owner = await seedUser(here, 'report-nodes', { plan: 'business' })
  workspaceId = await seedWorkspace(here, 'Nodes', owner)
  for (const name of ['nodes-ada', 'nodes-grace']) {
    const member = await seedUser(here, name)
    await seedMember(here, workspaceId, member, { scopes: ['analytics:read'] })
    addresses.push(member.email)
  }
  // Mails to new users are written by the node that has the job, so the other one starts later.
  there = await startApp({ ...options, databaseUrl: here.databaseUrl })
})
afterAll(async () => {
  await there?.stop()
  await here?.stop()
  await redis?.stop()
})

/** How many mails with reports each address has got, whichever node has sent them. */
async function received(): Promise<number[]> {
  const mails = (await Promise.all([here, there].map((app) => app.outbox.mails()))).flat()
  const reports = mails.filter(({ subject }) => subject?.startsWith('Daily:'))
  return addresses.map((address) => reports.filter(({ to }) => to?.some((one) => one.address === address)).length)
}

test('a schedule that two nodes start makes one report and one mail to each address, also when one of them stops', async () => {
  const body = { workspaceId, name: 'Daily', interval: 'day', recipientEmails: addresses }
  const made = await here.send('POST /api/analytics/report-schedules', { apiKey: owner.apiKey, body })
  expect(made.status, made.text).toBe(201)
  const scheduleId = made.body.data._id
  clock.advance(DAY)
  await Promise.all(
    [here, there, here, there].map(({ composition }) =>
      composition.services.turns.system(workspaceId, startSchedule, { scheduleId }),
    ),
  )
  await here.node.stop()
  const found = await waitFor(async () => {
    const query = { workspaceId, scheduleId }
    const { data } = (await there.send('GET /api/analytics/reports', { apiKey: owner.apiKey, query })).body
    expect(data).toHaveLength(1)
    const sent = data[0].reportDeliveries.filter(({ status }: { status: string }) => status === 'sent')
    return sent.length === addresses.length && data[0]
  })
  expect(found).toMatchObject({ status: 'done', from: '2026-11-30', to: '2026-11-30' })
  expect(await received()).toEqual([1, 1])
  // Jobs can run twice.
  const { mailer, reports } = there.composition.services
  const attempt = { mailer, jobId: crypto.randomUUID(), last: false }
  const { database } = there
  const deliveries = await database.rows<{ id: string }>('select id from report_deliveries where report_id = $1', [
    found._id,
  ])
  for (const { id } of deliveries) await reports.courier.deliver(id, attempt)
  expect(await received()).toEqual([1, 1])
})
