import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freeLoopbackPort } from '../src/setup/free-port.ts'
import { toolPath } from '../test/support/tools.ts'
import { waitFor } from '../test/support/wait.ts'
import type { LeaseStore, NodeEntry } from './ports.ts'
import { LEASE_CONNECTION, RedisLeaseStore } from './redis-lease-store.ts'
import { LeaseTables } from './simulation/sim-redis.ts'

const node = (inc: string, state: NodeEntry['state'] = 'active'): NodeEntry => ({ inc, address: `${inc}:1`, state })
const first = { first: true } as const
const later = { first: false } as const

interface Subject {
  readonly store: LeaseStore
  /** Makes sessions as old as after so many milliseconds. */
  readonly pass: (ms: number) => Promise<void>
}

function contract(make: () => Subject): void {
  it('extends a session with each beat, and does not revive an expired one', async () => {
    const { store, pass } = make()
    expect((await store.beat(node('a'), 500_000, later)).live).toBe(false)
    expect(await store.beat(node('a'), 120_000, first)).toEqual({ live: true, nodes: [node('a')] })
    expect((await store.beat(node('a', 'leaving'), 60_000, later)).nodes).toEqual([node('a', 'leaving')])
    await pass(90_000)
    expect((await store.beat(node('a'), 500_000, later)).live).toBe(false)
  })

  it('lists every live node, and removes its previous incarnation', async () => {
    const { store } = make()
    await store.beat(node('a'), 500_000, first)
    const { nodes } = await store.beat(node('b'), 500_000, first)
    expect(nodes.map(({ inc }) => inc).sort()).toEqual(['a', 'b'])
    const reply = await store.beat(node('a2'), 500_000, { first: true, previous: 'a' })
    expect(reply.nodes.map(({ inc }) => inc).sort()).toEqual(['a2', 'b'])
    expect((await store.beat(node('a'), 500_000, later)).live).toBe(false)
  })

  it('gives an actor to the first live candidate, and keeps it there', async () => {
    const { store } = make()
    await store.beat(node('a'), 500_000, first)
    await store.beat(node('b'), 500_000, first)
    expect(await store.locate('x', ['ghost', 'b'])).toEqual(node('b'))
    expect(await store.locate('x', ['a', 'a'])).toEqual(node('b'))
    expect(await store.locate('y', ['ghost'])).toBeUndefined()
    expect(await store.locate('y', [])).toBeUndefined()
  })

  it('reassigns an actor when its owner has died', async () => {
    const { store, pass } = make()
    await store.beat(node('a'), 60_000, first)
    await store.beat(node('b'), 500_000, first)
    expect(await store.locate('x', ['a', 'b'])).toEqual(node('a'))
    await pass(90_000)
    expect(await store.locate('x', ['a', 'b'])).toEqual(node('b'))
  })

  it('releases an actor only for its owner, to a live successor or to nobody', async () => {
    const { store } = make()
    await store.beat(node('a'), 500_000, first)
    await store.beat(node('b'), 500_000, first)
    await store.locate('x', ['a'])
    await store.release('x', 'b', undefined)
    expect(await store.locate('x', ['b'])).toEqual(node('a'))
    await store.release('x', 'a', 'b')
    expect(await store.locate('x', ['a'])).toEqual(node('b'))
    await store.release('x', 'b', 'ghost')
    expect(await store.locate('x', ['a'])).toEqual(node('a'))
    await store.release('x', 'a', undefined)
    expect(await store.locate('x', [])).toBeUndefined()
  })

  it('removes a node that leaves', async () => {
    const { store } = make()
    await store.beat(node('a'), 500_000, first)
    await store.locate('x', ['a'])
    await store.leave('a')
    expect((await store.beat(node('b'), 500_000, first)).nodes).toEqual([node('b')])
    expect(await store.locate('x', ['b'])).toEqual(node('b'))
  })
}

describe('lease store of the simulator', () => {
  contract(() => {
    let now = 0
    const tables = new LeaseTables(() => now)
    return {
      store: {
        beat: async (self, ttlMs, options) => tables.beat(self, ttlMs, options.first, options.previous),
        locate: async (actor, candidates) => tables.locate(actor, candidates),
        release: async (actor, inc, heir) => tables.release(actor, inc, heir),
        leave: async (inc) => tables.leave(inc),
        close: async () => undefined,
      },
      pass: async (ms) => {
        now += ms
      },
    }
  })
})

it('connects to Redis again after pauses that double, up to half a second', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 100].map((tries) => LEASE_CONNECTION.retryStrategy?.(tries))
  expect(pauses).toEqual([50, 100, 200, 400, 500, 500, 500])
})

describe.each([
  ['one Redis', false],
  ['a Redis Cluster', true],
])('lease store on %s', (_name, cluster) => {
  const folder = mkdtempSync(join(tmpdir(), 'crier-leases-'))
  let server: ChildProcess
  let url: string
  const stores: RedisLeaseStore[] = []
  let count = 0

  beforeAll(async () => {
    const port = await freeLoopbackPort()
    url = `redis://127.0.0.1:${port}`
    const { command, env } = toolPath('redis-server')
    const options = cluster ? ['--cluster-enabled', 'yes', '--cluster-port', String(await freeLoopbackPort())] : []
    server = spawn(command, ['--port', String(port), '--save', '', '--dir', folder, ...options], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
    })
    const redis = new Redis(url, { lazyConnect: false, maxRetriesPerRequest: null })
    redis.on('error', () => undefined)
    await waitFor(() => redis.ping())
    if (cluster) {
      await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
      await waitFor(async () => String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
    }
    redis.disconnect()
  })

  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    server.kill('SIGKILL')
    await once(server, 'exit')
    rmSync(folder, { recursive: true, force: true })
  })

  if (cluster)
    it('keeps all its keys in one slot', async () => {
      const store = new RedisLeaseStore({ url })
      stores.push(store)
      await store.beat(node('a'), 500_000, first)
      await store.beat(node('b'), 500_000, first)
      for (const actor of ['ws:1', 'ws:2', '{x}', 'ws:}{']) await store.locate(actor, ['a', 'b'])
      await store.release('ws:1', 'a', 'b')
      const redis = new Redis(url)
      const keys = await redis.keys('{c}*')
      const slots = await Promise.all(keys.map((key) => redis.call('CLUSTER', 'KEYSLOT', key)))
      redis.disconnect()
      expect(keys.length).toBe(7)
      expect(new Set(slots).size).toBe(1)
      expect(() => new RedisLeaseStore({ url, prefix: 'c' })).toThrow(/hash tag/)
    })

  it('keeps sessions and claims when Redis refuses writes because it is full', async () => {
    const store = new RedisLeaseStore({ url, prefix: '{full}' })
    stores.push(store)
    await store.beat(node('a'), 500_000, first)
    const redis = new Redis(url)
    await redis.config('SET', 'maxmemory', '1')
    try {
      await expect(redis.set('{full}:more', 'x')).rejects.toThrow('OOM')
      expect((await store.beat(node('a'), 500_000, later)).live).toBe(true)
      expect((await store.beat(node('b'), 500_000, first)).nodes).toHaveLength(2)
      expect(await store.locate('x', ['a'])).toEqual(node('a'))
      await store.release('x', 'a', 'b')
      expect(await store.locate('x', ['a'])).toEqual(node('b'))
    } finally {
      await redis.config('SET', 'maxmemory', '0')
      redis.disconnect()
    }
  })

  contract(() => {
    const prefix = `{t${(count += 1)}}`
    const store = new RedisLeaseStore({ url, prefix })
    stores.push(store)
    const pass = async (ms: number) => {
      const redis = new Redis(url)
      // Redis deletes a key whose remaining time is negative.
      for (const key of await redis.keys(`${prefix}:sess:*`)) await redis.pexpire(key, (await redis.pttl(key)) - ms)
      redis.disconnect()
    }
    return { store, pass }
  })
})
