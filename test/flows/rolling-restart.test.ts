import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { send } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

const CLIENTS = 6
const ADMIN = { email: 'root@example.com', password: 'a long enough password' }

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step()
})

test('serves every request during a rolling restart of two nodes behind a health-checking proxy', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crier-rolling-'))
  cleanUp.push(() => rm(folder, { recursive: true, force: true }))
  const database = await createDatabase()
  cleanUp.push(() => database.drop())
  const redis = await startRedis()
  cleanUp.push(() => redis.stop())
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    JWT_SECRET: 'what both nodes of this test have in common',
    ROLES: 'api,jobs',
    RATE_LIMITS: '0',
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    // The default interval.
    DRAIN_SECONDS: '',
  }
  const start = async (name: string, before?: CrierProcess) => {
    const node = await CrierProcess.start(await mkdtemp(join(folder, name)), before?.ports, env)
    cleanUp.push(() => node.kill())
    return node
  }
  let nodes = [await start('one'), await start('two')]
  const balancer = await startBalancer(nodes.map(({ url }) => url.replace('localhost', '127.0.0.1')))
  cleanUp.push(() => balancer.close())
  const bothReady = () => waitFor(() => balancer.ready().length === 2, { what: 'two ready nodes' })
  await bothReady()

  const login = await send(balancer.url, 'POST /api/auth/login', { body: ADMIN })
  const token: string = login.body.data.accessToken
  const made = await send(balancer.url, 'POST /api/workspaces', { token, body: { name: 'Acme', timezone: 'UTC' } })
  const workspaceId: string = made.body.data._id

  const failures: string[] = []
  let answered = 0
  const over = new AbortController()
  const client = async () => {
    for (let round = 0; !over.signal.aborted; round += 1) {
      const reply =
        round % 2 === 0
          ? await send(balancer.url, 'GET /api/workspaces', { token })
          : await send(balancer.url, 'PATCH /api/workspaces/{workspaceId}', {
              token,
              path: { workspaceId },
              body: { name: `Acme ${round}` },
            })
      answered += 1
      if (reply.status !== 200) failures.push(`${reply.status} ${reply.text}`)
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  for (const index of [0, 1]) {
    const node = nodes[index] as CrierProcess
    const before = answered
    await waitFor(() => answered > before + 50, { what: 'requests before the restart' })
    expect(await node.stop(), node.stderr).toBe(0)
    nodes = nodes.with(index, await start(`again-${index}`, node))
    await bothReady()
  }
  const restarted = answered
  await waitFor(() => answered > restarted + 50, { what: 'requests after the restarts' })
  over.abort()
  await clients
  expect(failures).toEqual([])
})
