import { io, type Socket } from 'socket.io-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UnrecoverableError, job, type JobContext } from '../../src/core/job.ts'
import { jobs as allJobs } from '../../src/registry/jobs.ts'
import { Type } from '../../src/core/schema.ts'
import { startApp, type App } from '../support/app.ts'
import { QUICK } from '../support/jobs.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

type Data = { url: string; token: string; way: string }
const release = Promise.withResolvers<void>()
const work = job({
  name: 'test.work',
  summary: 'Runs test work',
  queue: 'media',
  data: Type.Object({ url: Type.String(), token: Type.String(), way: Type.String() }),
  seenBy: 'media:read',
  run: async ({ data, progress }: JobContext<Data>) => {
    progress(Number.NaN)
    for (let percent = 0; percent <= 100; percent += 1) progress(percent, 'working')
    if (data.way === 'hang') await release.promise
    if (data.way === 'die') throw new UnrecoverableError('it cannot be done')
  },
})

let app: App
let world: World
let socket: Socket
const events: { name: string; data: Record<string, unknown> }[] = []

beforeAll(async () => {
  app = await startApp({ env: { MEDIA_THUMBNAILS: '3' }, jobs: [...allJobs, work], jobTimes: QUICK })
  world = new World(app)
  await world.user('root', { admin: true })
  await world.workspace('acme', 'ada')
  socket = io(app.url, { auth: { token: world.key('ada') }, transports: ['websocket'], reconnection: false })
  socket.onAny((name: string, data: Record<string, unknown>) => events.push({ name, data }))
  await waitFor(() => socket.connected)
})
afterAll(async () => {
  socket?.disconnect()
  await app?.stop()
})

const add = (way: string, options = {}) =>
  app.composition.jobs.add(
    app.database,
    work,
    { way, url: 'rtmp://me:hunter2@example.com/x', token: 'hunter2' },
    { workspaceId: world.id('acme'), ...options },
  )
const admin = () => world.as('root')
const find = async (id: string) => {
  const { body } = await admin().call('GET /api/queue/jobs', { query: { queue: 'media', limit: 100 } })
  return (body.data as Record<string, unknown>[]).find((one) => one['_id'] === id)
}
const eventValues = (id: string, name: string, field: string) =>
  events.filter((one) => one.name === name && one.data['jobId'] === id).map(({ data }) => data[field])

test('keeps the error and the payload of a dead job without secrets, and retries it', async () => {
  const id = await add('die')
  await waitFor(async () => (await find(id))?.['state'] === 'dead')
  expect(await find(id)).toMatchObject({
    name: 'test.work',
    workspaceId: world.id('acme'),
    attempts: 1,
    maxAttempts: 5,
    error: 'UnrecoverableError: it cannot be done',
    data: { way: 'die', token: '[secret]', url: 'rtmp://[secret]@example.com/x' },
  })
  await app.database.run(`update outbox set data = jsonb_set(data, '{way}', '"well"') where id = $1`, [id])
  expect((await admin().call('POST /api/queue/jobs/{id}/retry', { path: { id } })).status).toBe(200)
  await waitFor(async () => (await find(id))?.['state'] === 'done')
  const again = await admin().call('POST /api/queue/jobs/{id}/retry', { path: { id } })
  expect([again.status, again.body.message]).toEqual([409, expect.stringContaining('done')])
  await waitFor(() => eventValues(id, 'job.finished', 'state').length === 2)
  expect(eventValues(id, 'job.finished', 'state')).toEqual(['dead', 'done'])
  // Of 101 rapid reports only the first and the last are sent, in each of two runs.
  expect(eventValues(id, 'job.progress', 'percent')).toEqual([0, 100, 0, 100])
  const line = app.logs.find((one) => one.msg === 'job' && one['id'] === id)
  expect(line).toMatchObject({ job: 'test.work', queue: 'media', attempt: 1, outcome: 'dead' })
  expect(JSON.stringify(app.logs)).not.toContain('hunter2')
})

test('counts jobs by state, and drains, cleans and clears without touching running jobs', async () => {
  const done = await add('well')
  await waitFor(async () => (await find(done))?.['state'] === 'done')
  // One workspace gets at most two of the three workers.
  const [first, second] = await Promise.all([add('hang'), add('hang')])
  await waitFor(() => app.node.jobs?.running === 2)
  const later = await add('well', { runAt: new Date(Date.now() + 3_600_000) })
  await add('well')
  const stats = async () => {
    const { body } = await admin().call('GET /api/queue/stats')
    return (body.data as Record<string, unknown>[]).find((one) => one['queue'] === 'media')
  }
  expect(await stats()).toMatchObject({ waiting: 1, delayed: 1, active: 2, dead: 0, concurrency: 3 })
  const { body: all } = await admin().call('GET /api/queue/stats')
  const idle = (all.data as Record<string, unknown>[]).find((one) => one['queue'] === 'transcodes')
  expect(idle).toMatchObject({ waiting: 0, delayed: 0, active: 0, dead: 0, oldestWaitingSeconds: 0 })
  expect(idle).toMatchObject({ throughput: { lastMinute: 0, lastHour: 0, lastDay: 0 }, waitMs: null })
  const dead = await find(later)
  expect(dead).toMatchObject({ state: 'delayed' })
  const post = async (route: string, body: object) =>
    (await admin().call(route, { body })).body.data.removedCount as number
  const old = { queue: 'media', olderThan: 3_600 }
  expect(await post('POST /api/queue/clean', { ...old, state: 'delayed' })).toBe(0)
  expect(await post('POST /api/queue/clean', { ...old, state: 'delayed', olderThan: 0 })).toBe(1)
  await waitFor(() => eventValues(later, 'job.finished', 'error').length === 1)
  expect(eventValues(later, 'job.finished', 'error')).toEqual(['deleted by an administrator'])
  expect(await post('POST /api/queue/drain', { queue: 'media' })).toBe(1)
  expect(await stats()).toMatchObject({ waiting: 0, delayed: 0, active: 2 })
  expect(await post('POST /api/queue/clear', { queue: 'media' })).toBeGreaterThan(0)
  expect(await stats()).toMatchObject({ active: 2, throughput: { lastHour: 0 } })
  release.resolve()
  for (const id of [first, second]) await waitFor(async () => (await find(id))?.['state'] === 'done')
  expect(await stats()).toMatchObject({ active: 0, throughput: { lastMinute: 2 }, waitMs: { p50: expect.any(Number) } })
  const metrics = await (await fetch(`${app.node.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/crier_job_attempts_total\{job="test\.work",outcome="done"\} [1-9]/)
  expect(metrics).toContain('crier_jobs_held')
})

test('lists jobs by queue, state, name and workspace, in pages', async () => {
  expect(app.node.resources.jobStore.kind).toBe('postgres')
  const later = { runAt: new Date(Date.now() + 3_600_000) }
  const ids: string[] = []
  for (let n = 0; n < 3; n += 1) ids.unshift(await add('well', later))
  const elsewhere = await add('well', { ...later, workspaceId: world.id('root') })
  const found = async (query: Readonly<Record<string, unknown>>) => {
    const { body } = await admin().call('GET /api/queue/jobs', { query })
    return { ids: body.data.map((one: { _id: string }) => one._id) as string[], page: body.pagination }
  }
  const own = { queue: 'media', state: 'delayed', name: 'test.work', workspaceId: world.id('acme') }
  const first = await found({ ...own, limit: 2 })
  expect(first.ids).toEqual(ids.slice(0, 2))
  expect((await found({ ...own, limit: 2, cursor: first.page.nextCursor })).ids).toEqual(ids.slice(2))
  expect((await found({ ...own, workspaceId: world.id('root') })).ids).toEqual([elsewhere])
  for (const other of [{ queue: 'mail' }, { state: 'dead' }, { name: 'mail.send' }]) {
    expect((await found({ ...own, ...other })).ids).toEqual([])
  }
})

test('shows queues on the admin port, read-only', async () => {
  const id = await add('die')
  await waitFor(async () => (await find(id))?.['state'] === 'dead')
  expect(await (await fetch(`${app.node.adminUrl}/queues`)).text()).toContain('Bull Dashboard')
  const pages = await fetch(`${app.node.adminUrl}/queues/api/queues?activeQueue=media&status=failed`)
  const text = await pages.text()
  expect(text).toContain('test.work')
  expect(text).not.toContain('hunter2')
  const change = await fetch(`${app.node.adminUrl}/queues/api/queues/media/empty`, { method: 'PUT' })
  expect(change.status).toBe(405)
  expect((await app.send('GET /queues')).status).toBe(404)
})
