import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { testAuthority } from './certificates.ts'
import { startRedis, startSentinel, type TestRedis } from './redis.ts'
import { waitFor } from './wait.ts'

/** The forms of `REDIS_URL` besides one Redis without TLS. */
export const REDIS_FORMS = ['TLS', 'sentinels', 'cluster'] as const
export type RedisForm = (typeof REDIS_FORMS)[number]

export interface FormedRedis {
  readonly url: string
  /** With sentinels: the primary, then its replica. */
  readonly servers: readonly TestRedis[]
  stop(): Promise<void>
}

/** Starts real servers for one of the forms. */
export async function startRedisAs(form: RedisForm): Promise<FormedRedis> {
  const undo: (() => unknown)[] = []
  const servers: TestRedis[] = []
  const start = async (settings: Readonly<Record<string, string>> = {}) => {
    const server = await startRedis(settings)
    undo.push(() => server.stop())
    servers.push(server)
    return server
  }
  const stop = async () => {
    for (const step of undo.toReversed()) await step()
  }
  try {
    return { url: await STARTED[form](start, undo), servers, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type Start = (settings?: Readonly<Record<string, string>>) => Promise<TestRedis>

/** Each starts its servers and returns the URL. */
const STARTED: Readonly<Record<RedisForm, (start: Start, undo: (() => unknown)[]) => Promise<string>>> = {
  TLS: async (start, undo) => {
    const folder = await mkdtemp(join(tmpdir(), 'crier-test-tls-'))
    undo.push(() => rm(folder, { recursive: true, force: true }))
    for (const [name, text] of Object.entries(testAuthority('crier test').issue('localhost'))) {
      await writeFile(join(folder, name), text)
    }
    const port = await freeLoopbackPort()
    await start({
      'tls-port': String(port),
      'tls-cert-file': join(folder, 'cert'),
      'tls-key-file': join(folder, 'key'),
      'tls-ca-cert-file': join(folder, 'ca'),
      'tls-auth-clients': 'no',
    })
    return `rediss://localhost:${port}?ca=${join(folder, 'ca')}`
  },

  sentinels: async (start, undo) => {
    const primary = await start()
    const replica = await start({ replicaof: `127.0.0.1 ${new URL(primary.url).port}` })
    const sentinel = await startSentinel(primary.url)
    undo.push(() => sentinel.stop())
    const desk = new Redis(sentinel.url.replace('redis+sentinel', 'redis').replace('/crier', ''))
    await waitFor(async () => ((await desk.call('SENTINEL', 'REPLICAS', 'crier')) as unknown[]).length === 1)
    desk.disconnect()
    await waitForRole(replica, 'master_link_status:up')
    return sentinel.url
  },

  cluster: async (start) => {
    const nodes: { readonly host: string; readonly busPort: string; readonly redis: Redis }[] = []
    for (let count = 0; count < 3; count += 1) {
      const busPort = String(await freeLoopbackPort())
      const { url } = await start({ 'cluster-enabled': 'yes', 'cluster-port': busPort })
      nodes.push({ host: new URL(url).host, busPort, redis: new Redis(url) })
    }
    for (const [index, { redis }] of nodes.entries()) {
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', ...(SLOTS[index] ?? []))
    }
    // `redis-cli --cluster create` introduces the nodes once, and waits for ever if one is late.
    await waitFor(
      async () => {
        const infos = await Promise.all(nodes.map(({ redis }) => redis.cluster('INFO')))
        if (infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3')))
          return true
        for (const { busPort, host } of nodes.slice(1)) {
          const [address = '', port = ''] = host.split(':')
          await nodes[0]?.redis.call('CLUSTER', 'MEET', address, port, busPort)
        }
        return false
      },
      { what: 'the cluster', intervalMs: 1_000 },
    )
    for (const { redis } of nodes) redis.disconnect()
    return `redis+cluster://${nodes.map(({ host }) => host).join(',')}`
  },
}

/** The slots of each node. */
const SLOTS = [
  [0, 5_460],
  [5_461, 10_922],
  [10_923, 16_383],
]

/** Waits until `INFO replication` of a server has a line. */
export async function waitForRole({ url }: TestRedis, line: string): Promise<void> {
  const redis = new Redis(url)
  await waitFor(async () => (await redis.info('replication')).includes(line), { what: line })
  redis.disconnect()
}
