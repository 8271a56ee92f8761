import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, ManualClock } from '../../src/core/clock.ts'
import type { Credential, Platform } from '../../src/platforms/platform.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { startApp, type App } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { connectAtSandbox } from '../support/sandbox-sign-in.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'
import { usesOf, type UseResult } from './social-uses.ts'

/**
 * Refreshes of every platform that has them, on two nodes with one database and one Redis. One node is a process of its
 * own, which is killed in the middle of a refresh.
 */

const NODE = fileURLToPath(new URL('social-node.ts', import.meta.url))
const REFRESHING = PLATFORMS.filter(({ oauth }) => oauth?.refresh !== undefined)
/** How many uses each node makes at once. */
const USES = 25
/** Some platforms refuse to refresh a token that is younger than a day. */
const AGE_MS = 25 * HOUR

let redis: TestRedis
let folder: string
let sandbox: Sandbox
let near: App
let far: FarNode
let owner: SeededUser
let workspaceId: string
/** The time of the platforms. The nodes have the real time. */
const platformTime = new ManualClock(Date.now())
/** The request that refreshes a token, by platform. */
const refreshCalls = new Map<string, string>()
/** Accounts by platform and purpose. */
const accounts = new Map<string, string>()

const PURPOSES = ['control', 'shared', 'flushed', 'held', 'stalled'] as const
type Purpose = (typeof PURPOSES)[number]

beforeAll(async () => {
  redis = await startRedis()
  folder = await mkdtemp(join(tmpdir(), 'crier-social-refresh-'))
  sandbox = await startSandbox({ clock: platformTime, folder: join(folder, 'sandbox'), host: '127.0.0.1', port: 0 })
  near = await startApp({ redisUrl: redis.url, env: { SANDBOX: '0', ...settingsOf(sandbox) } })
  owner = await seedUser(near, 'owner', { plan: 'business' })
  workspaceId = await seedWorkspace(near, 'Refreshes', owner)
  for (const platform of REFRESHING) {
    for (const purpose of PURPOSES) await connect(platform, purpose)
  }
  await expireAll('control')
  for (const platform of REFRESHING) refreshCalls.set(platform.key, await refreshCallOf(platform))
  far = await FarNode.start()
})
afterAll(async () => {
  await far?.kill()
  await near?.stop()
  await sandbox?.close()
  await redis?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The settings that lead a node to the sandbox, as if it were the platforms. */
function settingsOf({ settings }: Sandbox): Record<string, string> {
  const all = REFRESHING.flatMap(({ key, registration, servers = {} }): [string, string][] => {
    const { apiUrl, authUrl, clientId = '', clientSecret = '' } = settings[key] ?? { apiUrl: '', authUrl: '' }
    const name = key.toUpperCase()
    const others = Object.values(servers).map(({ setting }): [string, string] => [setting, apiUrl])
    const app: [string, string][] = [
      [`${name}_CLIENT_ID`, clientId],
      [`${name}_CLIENT_SECRET`, clientSecret],
    ]
    return [[`${name}_API_URL`, apiUrl], [`${name}_AUTH_URL`, authUrl], ...others, ...(registration ? app : [])]
  })
  return Object.fromEntries(all)
}

/** Connects an account, or connects it again. */
async function connect({ key }: Platform, purpose: Purpose): Promise<string> {
  const options = { apiKey: owner.apiKey, workspaceId, platform: key, account: `${purpose}_user` }
  const id = await connectAtSandbox(near, options)
  accounts.set(`${key} ${purpose}`, id)
  return id
}

/** Lets the time of the platforms pass, and with it the access tokens of the accounts for a purpose. */
async function expireAll(purpose: Purpose): Promise<void> {
  platformTime.advance(AGE_MS)
  for (const platform of REFRESHING) await expire(accountOf(platform, purpose))
}

function accountOf({ key }: Platform, purpose: Purpose): string {
  return accounts.get(`${key} ${purpose}`) ?? ''
}

/**
 * Makes a credential as old as the time of the platforms says, and ends its access token, so that the next use must
 * refresh it. The schedule leaves the account alone.
 */
async function expire(id: string): Promise<void> {
  const { vault } = near.composition.services.socialAccounts
  const row = await near.database.row<{ keyId: string; dataKeySealed: string; sealed: string }>(
    `select key_id as "keyId", data_key_sealed as "dataKeySealed", sealed from social_credentials where account_id = $1`,
    [id],
  )
  if (row === undefined) throw new Error(`the account ${id} has no credential`)
  const times = Object.entries(await vault.open(row)).map(([name, value]) => [name, olderBy(AGE_MS, value)] as const)
  const credential: Credential = { ...Object.fromEntries(times), expiresAt: Date.now() - 1 }
  const { dataKeySealed, keyId, sealed } = await vault.seal(credential)
  await near.database.run(
    'update social_credentials set key_id = $1, data_key_sealed = $2, sealed = $3 where account_id = $4',
    [keyId, dataKeySealed, sealed, id],
  )
  await near.database.run('update social_accounts set refresh_at = null where id = $1', [id])
}

/** A time of a credential is a number of milliseconds since the epoch. */
function olderBy<T>(ms: number, value: T): T | number {
  return typeof value === 'number' && value > Date.UTC(2020) ? value - ms : value
}

/**
 * Finds out which request refreshes a token, by observing one: the last one that has an effect, or the last one of
 * platforms that exchange tokens by GET.
 */
async function refreshCallOf(platform: Platform): Promise<string> {
  const { socialAccounts } = near.composition.services
  const id = accountOf(platform, 'control')
  const from = requestsOf(platform).length
  await socialAccounts.upkeep.refresh(id)
  const seen = requestsOf(platform).slice(from)
  const last = seen.findLast((call) => !call.startsWith('GET ')) ?? seen.at(-1)
  if (last === undefined) throw new Error(`a refresh at ${platform.title} makes no request`)
  return last
}

function requestsOf({ key }: Platform): readonly string[] {
  return sandbox.fakes.get(key)?.requests ?? []
}

function countRefreshes(platform: Platform, from: number): number {
  return requestsOf(platform)
    .slice(from)
    .filter((call) => call === refreshCalls.get(platform.key)).length
}

async function stateOf(id: string) {
  const [account, stored] = await Promise.all([
    near.send('GET /api/social-accounts/{id}', { apiKey: owner.apiKey, path: { id } }),
    near.database.row<{ version: number; leaseToken: string | null }>(
      'select version, lease_token as "leaseToken" from social_credentials where account_id = $1',
      [id],
    ),
  ])
  const { status, statusMessage } = account.body.data as { status: string; statusMessage: string | null }
  return { status, statusMessage, ...stored }
}

const nearUses = (id: string, count = USES) => usesOf(near.database, near.composition, id, count)

/** The node in the other process. */
class FarNode {
  readonly #child: ChildProcess
  readonly #results = new Map<string, UseResult>()

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message: 'ready' | UseResult) => {
      if (message !== 'ready') this.#results.set(message.accountId, message)
    })
  }

  static async start(): Promise<FarNode> {
    const child = fork(NODE, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
      env: {
        PATH: process.env['PATH'],
        HOST: '127.0.0.1',
        PORT: String(await freeLoopbackPort()),
        WHIP_PORT: '0',
        ADMIN_PORT: '0',
        ROLES: 'api',
        RATE_LIMITS: '0',
        DRAIN_SECONDS: '0',
        DATABASE_URL: near.databaseUrl,
        DATA_DIR: await mkdtemp(join(folder, 'far-')),
        REDIS_URL: redis.url,
        REDIS_PRIVATE: '0',
        JWT_SECRET: near.config.JWT_SECRET,
        PUBLIC_URL: near.config.PUBLIC_URL,
        ...settingsOf(sandbox),
      },
    })
    const started = new FarNode(child)
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('the other node ended')))
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return started
  }

  /** Uses an account without waiting for the result. */
  use(accountId: string, count = USES): void {
    this.#results.delete(accountId)
    this.#child.send({ accountId, count })
  }

  async errorsOf(accountId: string): Promise<readonly string[]> {
    const result = await waitFor(() => this.#results.get(accountId), { what: 'the uses on the other node' })
    return result.errors
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}

async function flushRedis(): Promise<void> {
  const client = new Redis(redis.url)
  await client.flushall()
  client.disconnect()
}

/** The refreshes that are in progress. */
async function countLeases(): Promise<number> {
  const row = await near.database.row<{ count: number }>(
    'select count(*) from social_credentials where lease_token is not null',
  )
  return row?.count ?? 0
}

/**
 * Kills the node that refreshes an account of every platform, while the platforms do not answer, and empties Redis. The
 * uses on the remaining node wait for the leases, which end as if their time had passed.
 */
async function killDuringRefresh(kind: 'hold' | 'stall', purpose: Purpose) {
  for (const platform of REFRESHING) await connect(platform, purpose)
  await expireAll(purpose)
  const from = new Map(REFRESHING.map((platform) => [platform.key, requestsOf(platform).length]))
  for (const platform of REFRESHING) {
    const [method = '', path = ''] = (refreshCalls.get(platform.key) ?? '').split(' ')
    sandbox.fakes.get(platform.key)?.faults.add({ kind, method, path, times: 1 })
    far.use(accountOf(platform, purpose), 1)
  }
  const isAsked = (platform: Platform) => countRefreshes(platform, from.get(platform.key) ?? 0) === 1
  await waitFor(() => REFRESHING.every(isAsked), { what: 'a refresh at every platform' })
  await far.kill()
  await flushRedis()
  const results = new Map<string, string[]>()
  const uses = REFRESHING.map(async (platform) => {
    results.set(platform.key, await nearUses(accountOf(platform, purpose), 5))
  })
  await near.database.run('update social_credentials set lease_until = now() where lease_token is not null')
  await Promise.all(uses)
  const counts = REFRESHING.map((platform): [string, number] => [
    platform.key,
    countRefreshes(platform, from.get(platform.key) ?? 0),
  ])
  far = await FarNode.start()
  return { results, counts: new Map(counts) }
}

describe.each(REFRESHING.map((platform) => [platform.title, platform] as const))('%s', (_title, platform) => {
  test('fifty uses of an expired token on two nodes make one refresh', async () => {
    const id = accountOf(platform, 'shared')
    platformTime.advance(AGE_MS)
    await expire(id)
    const { version = 0 } = await stateOf(id)
    const from = requestsOf(platform).length
    far.use(id)
    const errors = await nearUses(id)
    expect([...errors, ...(await far.errorsOf(id))]).toEqual([])
    expect(countRefreshes(platform, from)).toBe(1)
    expect(await stateOf(id)).toMatchObject({ status: 'connected', version: version + 1, leaseToken: null })
  })
})

test('Redis is emptied in the middle of a refresh: each platform gets one, and every use on both nodes succeeds', async () => {
  await expireAll('flushed')
  const from = new Map(REFRESHING.map((platform) => [platform.key, requestsOf(platform).length]))
  const asked = (platform: Platform) => countRefreshes(platform, from.get(platform.key) ?? 0)
  const uses = new Map<string, Promise<string[]>>()
  for (const platform of REFRESHING) {
    const [method = '', path = ''] = (refreshCalls.get(platform.key) ?? '').split(' ')
    sandbox.fakes.get(platform.key)?.faults.add({ kind: 'slow', method, path, delayMs: 5_000, times: 1 })
    const id = accountOf(platform, 'flushed')
    far.use(id, 5)
    uses.set(platform.key, nearUses(id, 5))
  }
  await waitFor(() => REFRESHING.every((platform) => asked(platform) === 1), { what: 'a refresh at every platform' })
  await flushRedis()
  expect(await countLeases()).toBe(REFRESHING.length)
  for (const platform of REFRESHING) {
    const { key } = platform
    const id = accountOf(platform, 'flushed')
    expect([key, await uses.get(key), await far.errorsOf(id)]).toEqual([key, [], []])
    expect([key, asked(platform)]).toEqual([key, 1])
    expect(await stateOf(id), key).toMatchObject({ status: 'connected', leaseToken: null })
  }
})

describe('a node is killed and Redis is emptied', () => {
  test('before the platforms handle the refresh: the other node finishes it', async () => {
    const { counts, results } = await killDuringRefresh('stall', 'stalled')
    for (const platform of REFRESHING) {
      const { key } = platform
      // The second one is the repetition. The platform has handled only that.
      expect([key, results.get(key), counts.get(key)]).toEqual([key, [], 2])
      expect(await stateOf(accountOf(platform, 'stalled')), key).toMatchObject({
        status: 'connected',
        leaseToken: null,
      })
    }
  })

  test('after the platforms handled it: the other node repeats it, or says why it cannot', async () => {
    const { counts, results } = await killDuringRefresh('hold', 'held')
    for (const platform of REFRESHING) {
      const { key, oauth } = platform
      const state = await stateOf(accountOf(platform, 'held'))
      expect([key, counts.get(key)]).toEqual([key, 2])
      if (oauth?.refreshStyle === 'single_use') {
        expect([key, new Set(results.get(key))]).toEqual([key, new Set(['auth_expired refresh_reply_lost'])])
        expect(state, key).toMatchObject({
          status: 'reconnect_needed',
          statusMessage: expect.stringContaining('was lost on the way, and the token works only once'),
        })
      } else {
        expect([key, results.get(key)]).toEqual([key, []])
        expect(state, key).toMatchObject({ status: 'connected', leaseToken: null })
      }
    }
  })

  test('an account whose refresh was lost is the same one after it is connected again', async () => {
    for (const platform of REFRESHING) {
      const { key, oauth } = platform
      if (oauth?.refreshStyle !== 'single_use') continue
      const id = accountOf(platform, 'held')
      expect([key, await connect(platform, 'held')]).toEqual([key, id])
      expect([key, await nearUses(id, 1), (await stateOf(id)).status]).toEqual([key, [], 'connected'])
    }
  })
})
