import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ActorsPage } from '../../src/pages/actors-page.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { startApp, type App } from '../support/app.ts'
import { testAuthority } from '../support/certificates.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { cutProxy } from '../support/cut-proxy.ts'
import { send } from '../support/send.ts'
import { Sockets, type Listening } from '../support/sockets.ts'
import { StopLoad } from './stop-load.ts'
import { toolPath } from '../support/tools.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let redis: ChildProcess
let redisUrl: string
let folder: string
let one: App
let two: App
let world: World

/** Settings of all nodes. Their links use TLS. */
let env: Readonly<Record<string, string>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-faults-'))
  env = {
    JWT_SECRET: 'one secret that signs tokens on all nodes',
    CLUSTER_SECRET: 'the secret that all nodes of the cluster share',
    ...(await linkCertificates(folder)),
  }
  const port = await freeLoopbackPort()
  const { command, env: more } = toolPath('redis-server')
  redis = spawn(command, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    cwd: folder,
    env: { ...process.env, ...more },
    stdio: 'ignore',
  })
  redisUrl = `redis://127.0.0.1:${port}`
  const client = new Redis(redisUrl, { maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  await waitFor(() => client.ping())
  client.disconnect()
  one = await startApp({ redisUrl, env })
  world = new World(one)
  two = await startApp({ redisUrl, env, databaseUrl: one.databaseUrl })
  await waitFor(() => one.composition.actors.stats().cluster?.nodes === 2)
})

afterAll(async () => {
  await two?.stop()
  await one?.stop()
  redis.kill('SIGKILL')
  await once(redis, 'exit')
  await rm(folder, { recursive: true, force: true })
})

async function linkCertificates(into: string): Promise<Record<string, string>> {
  const { ca, cert, key } = testAuthority('the nodes').issue('any node')
  const texts = { CLUSTER_CA: ca, CLUSTER_CERT: cert, CLUSTER_KEY: key }
  const files = Object.entries(texts).map(async ([name, text]) => {
    const path = join(into, `${name}.pem`)
    await writeFile(path, text)
    return [name, path] as const
  })
  return Object.fromEntries(await Promise.all(files))
}

/** The folder of a node that runs jobs. It may send any mail of a test, so its mails are written to those of `one`. */
async function folderOfSender(): Promise<string> {
  const path = await mkdtemp(join(folder, 'sender-'))
  const mails = join(one.dataDir, 'outbox')
  await mkdir(mails, { recursive: true, mode: 0o700 })
  await mkdir(join(path, 'data'), { mode: 0o700 })
  await symlink(mails, join(path, 'data', 'outbox'))
  return path
}

/** The log line with this message in the output of a process. */
function logLine(text: string, message: string): Record<string, unknown> {
  const line = text.split('\n').find((row) => row.includes(JSON.stringify(message)))
  return JSON.parse(line ?? '{}') as Record<string, unknown>
}

/** The names of a workspace and its owner. */
type Names = readonly [string, string]

/** Names are new in a repetition of a test too. */
let made = 0

async function makeWorkspace(): Promise<Names> {
  const names = [`w${made}`, `owner${made >> 2}`] as const
  made += 1
  await world.user(names[1], { plan: 'pro' })
  await world.workspace(...names)
  return names
}

async function makeWorkspaces(): Promise<Names[]> {
  const names: Names[] = []
  while (names.length < 12) names.push(await makeWorkspace())
  return names
}

/**
 * Uses workspaces until the node that is not `one` or `two` owns two of them. Which node gets a workspace is up to chance:
 * a third node has fewer than two of twelve in one of twenty cases.
 */
async function untilThirdOwnsTwo(use: (names: Names) => Promise<unknown>): Promise<[Names, Names]> {
  const known = [one, two].map((app) => app.composition.actors.stats().cluster?.address)
  const names: Names[] = []
  for (;;) {
    names.push(await makeWorkspace())
    await use(names.at(-1) as Names)
    const nodes = await one.composition.actors.owners()
    const owned = nodes.find(({ address }) => !known.includes(address))?.actors.map(({ actor }) => actor)
    const found = names.filter(([name]) => owned?.includes(`ws:${world.id(name)}`))
    if (found.length > 1) return found as [Names, Names]
  }
}

describe('two nodes of the service', () => {
  it('give the same replies, whichever node owns the workspace', async () => {
    const names = await makeWorkspaces()
    for (const [name, owner] of names) {
      const create = (app: App) =>
        app.send('POST /api/streams', {
          apiKey: world.key(owner),
          body: { workspaceId: world.id(name), title: 'Hello' },
        })
      const made = [await create(one), await create(two)]
      expect(made.map(({ status }) => status)).toEqual([201, 201])
      // Errors of the turn are also the same through both nodes.
      const update = (app: App) =>
        app.send('PUT /api/streams/{id}', {
          apiKey: world.key(owner),
          path: { id: made[0]?.body.data._id as string },
          headers: { 'If-Match': '"999"' },
          body: { title: 'Late' },
        })
      const refused = [await update(one), await update(two)]
      expect(refused.map(({ status, body }) => [status, body.code, body.message])).toEqual(
        refused.map(() => [412, 'precondition_failed', refused[0]?.body.message as string]),
      )
    }
    const [first, second] = [one.composition.actors.stats(), two.composition.actors.stats()]
    expect((first.cluster?.forwarded ?? 0) + (second.cluster?.forwarded ?? 0)).toBeGreaterThan(12)
    const owners = await one.composition.actors.owners()
    expect(owners.map((node) => node.reachable)).toEqual([true, true])
    const owned = owners.flatMap((node) => node.actors).map(({ actor }) => actor)
    for (const [name] of names) expect(owned.filter((actor) => actor === `ws:${world.id(name)}`)).toHaveLength(1)
  })

  it('show owners and metrics to administrators', async () => {
    const [name, owner] = await makeWorkspace()
    const body = { workspaceId: world.id(name), title: 'Hello' }
    expect((await one.send('POST /api/streams', { apiKey: world.key(owner), body })).status).toBe(201)
    const rows = ({ nodes }: ActorsPage) =>
      nodes.flatMap(({ address, actors }) => actors.map(({ actor, epoch }) => `${actor} ${epoch} ${address}`)).sort()
    // Retried, because an actor may become idle between the two reads.
    await waitFor(async () => {
      const pages = await Promise.all(
        [one, two].map(async (app) => (await fetch(`${app.node.adminUrl}/actors`)).json() as Promise<ActorsPage>),
      )
      const [first, second] = pages as [ActorsPage, ActorsPage]
      expect(rows(first).length).toBeGreaterThan(0)
      expect(rows(first)).toEqual(rows(second))
      const addresses = pages.map(({ here }) => here.cluster?.address)
      expect(new Set(first.nodes.map(({ address }) => address))).toEqual(new Set(addresses))
      return true
    })
    for (const app of [one, two]) {
      const { actors } = app.composition
      // Retried, because a system turn may run between the two reads.
      await waitFor(async () => {
        const text = await (await fetch(`${app.node.adminUrl}/metrics`)).text()
        const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
        const { cluster, turns } = actors.stats()
        const shown = ['owned', 'forwarded_total', 'turn_seconds_count'].map((name) => figure(`crier_actors_${name}`))
        const links = [figure('crier_links\\{state="open"\\}'), figure('crier_nodes')]
        expect([...shown, ...links]).toEqual([cluster?.owned, cluster?.forwarded, turns, 1, 2])
        return true
      })
      const ready = (await (await fetch(`${app.node.adminUrl}/ready`)).json()) as {
        checks: { actors: { details: unknown } }
      }
      expect(ready.checks.actors.details).toMatchObject({ nodes: 2, linksOpen: 1, quarantined: 0 })
    }
  })

  it('return the actual outcome when the owner dies between commit and reply, and publish its events', async () => {
    const sockets = new Sockets(() => one)
    const proxy = await cutProxy(one.databaseUrl)
    const doomed = await CrierProcess.start(await mkdtemp(join(folder, 'doomed-')), undefined, {
      ...env,
      ROLES: 'api',
      DATABASE_URL: proxy.url,
      REDIS_URL: redisUrl,
    })
    try {
      const create = ([name, owner]: Names, title: string) =>
        one.send('POST /api/streams', { apiKey: world.key(owner), body: { workspaceId: world.id(name), title } })
      const [retried, notRetried] = await untilThirdOwnsTwo((names) => create(names, 'Hello'))
      const [listening, watching] = [
        await sockets.connect(world.key(retried[1])),
        await sockets.connect(world.key(notRetried[1])),
      ]
      await world.member(notRetried[0], 'mate')
      const list = () =>
        one.send('GET /api/streams', { apiKey: world.key('mate'), query: { workspaceId: world.id(notRetried[0]) } })
      expect((await list()).status).toBe(200)

      const title = `Committed without a reply in ${retried[0]}`
      proxy.holdCommitAfter(title)
      const reply = create(retried, title)
      const rows = () => one.database.rows('select 1 from streams where title = $1', [title])
      await waitFor(async () => (await rows()).length === 1, { what: 'the commit' })
      // Sent through the node that is killed, so the request for this workspace is not retried.
      proxy.holdCommitAfter('member.removed')
      const path = { workspaceId: world.id(notRetried[0]), userId: world.id('mate') }
      const lost = doomed.send('DELETE /api/team/{workspaceId}/members/{userId}', {
        apiKey: world.key(notRetried[1]),
        path,
      })
      const mates = () =>
        one.database.rows('select 1 from workspace_members where workspace_id = $1 and user_id = $2', [
          path.workspaceId,
          path.userId,
        ])
      await waitFor(async () => (await mates()).length === 0, { what: 'the other commit' })
      await Promise.all([doomed.kill(), expect(lost).rejects.toThrow()])

      expect(await reply).toMatchObject({ status: 201, body: { data: { title } } })
      expect(await rows()).toHaveLength(1)
      const eventsWith = ({ events }: Listening, text: string) =>
        events.filter((one) => JSON.stringify(one).includes(text))
      await waitFor(() => eventsWith(listening, title).length > 0 && eventsWith(listening, 'missed').length > 0)
      await waitFor(
        () => eventsWith(watching, 'member.removed').length > 0 && eventsWith(watching, 'missed').length > 0,
        {
          what: 'the event of the request that is not retried',
        },
      )
      expect((await list()).status).toBe(404)
    } finally {
      sockets.end()
      await doomed.kill()
      await proxy.close()
    }
  })

  it('lose nothing when one of them stops under load, and a client that retries once sees no error', async () => {
    const leaving = await CrierProcess.start(await folderOfSender(), undefined, {
      ...env,
      ROLES: 'api,jobs',
      RATE_LIMITS: '0',
      DATABASE_URL: one.databaseUrl,
      REDIS_URL: redisUrl,
    })
    const load = new StopLoad([one.url, leaving.url])
    try {
      const use = async ([name, owner]: Names) => {
        const options = { apiKey: world.key(owner), body: { workspaceId: world.id(name), title: 'The first' } }
        expect((await send(leaving.url, 'POST /api/streams', options)).status).toBe(201)
        load.add(world.id(name), world.key(owner))
      }
      await untilThirdOwnsTwo(use)
      await waitFor(() => load.acknowledged > 300, {
        what: 'load on the node that will stop',
      })
      const startedAt = performance.now()
      const code = await leaving.stop()
      const took = performance.now() - startedAt
      await load.untilServed()
      const { errors, retried, titles } = await load.stop()
      const handedOver = logLine(leaving.stderr + leaving.stdout, 'actors handed over')
      console.log(
        `stop: ${JSON.stringify(handedOver)}, process ended in ${took.toFixed(0)} ms; ${titles.length} done, ${retried} retried`,
      )
      expect(errors).toEqual([])
      expect(code).toBe(0)
      expect(handedOver).toMatchObject({ kept: 0 })
      const rows = await one.database.rows<{ title: string }>('select title from streams where title like $1', [
        `${load.prefix}%`,
      ])
      expect(rows.map(({ title }) => title).sort()).toEqual(titles.sort())
    } finally {
      await load.stop()
      await leaving.kill()
    }
  })

  it('reject turns in time with Retry-After while Redis hangs, and keep serving reads', async () => {
    const names = await makeWorkspaces()
    const create = async (app: App, [name, owner]: Names) => {
      const startedAt = performance.now()
      const body = { workspaceId: world.id(name), title: 'Hello' }
      const { headers, status } = await app.send('POST /api/streams', { apiKey: world.key(owner), body })
      return { status, retryAfter: Number(headers.get('retry-after')), ms: performance.now() - startedAt }
    }
    const everywhere = () => Promise.all([one, two].flatMap((app) => names.map((name) => create(app, name))))
    redis.kill('SIGSTOP')
    try {
      const replies: Awaited<ReturnType<typeof create>>[] = []
      await waitFor(
        async () => {
          const round = await everywhere()
          replies.push(...round)
          return round.every(({ status }) => status === 503)
        },
        // A round takes up to ten seconds.
        { timeoutMs: 120_000, what: 'both nodes to notice that their leases have expired' },
      )
      expect(replies.filter(({ ms }) => ms > 60_000)).toEqual([])
      expect(replies.filter(({ retryAfter, status }) => status === 503 && !(retryAfter > 0))).toEqual([])
      expect(replies.filter(({ status }) => status !== 201 && status !== 503)).toEqual([])
      const [[name, owner]] = names as [Names]
      const read = { apiKey: world.key(owner), query: { workspaceId: world.id(name) } }
      expect((await two.send('GET /api/streams', read)).status).toBe(200)
    } finally {
      redis.kill('SIGCONT')
    }
    await waitFor(async () => (await everywhere()).every(({ status }) => status === 201), {
      what: 'both nodes to serve every workspace again',
    })
  })
})
