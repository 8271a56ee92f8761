import { readFileSync } from 'node:fs'
import { Redis, type Cluster, type RedisOptions } from 'ioredis'
import type { BeatResult, LeaseStore, NodeEntry, NodeState } from './ports.ts'

/** How long the store keeps a claim that is not renewed. Owners renew theirs far more often. */
const CLAIM_TTL_MS = 6 * 3_600_000

/**
 * Options of a connection that never runs a lease command late: commands are not queued while the connection is down, not
 * sent twice, and time out after a heartbeat. The defaults of ioredis differ in all three.
 */
export const LEASE_CONNECTION: RedisOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 1_000,
  connectTimeout: 1_000,
  // A server that hangs keeps its connections. The next one may reach another server.
  socketTimeout: 2_000,
  keepAlive: 1_000,
  noDelay: true,
  retryStrategy: (tries) => Math.min(500, 25 * 2 ** Math.min(tries, 5)),
}

export interface RedisLeaseStoreOptions {
  /** A URL, or a function that opens the connection with the options of leases. */
  readonly url: string | ((options: RedisOptions) => Redis | Cluster)
  /** Distinguishes clusters that share a Redis. Braces make it a hash tag, so that all keys are in one slot of a Redis Cluster. */
  readonly prefix?: string
  readonly onError?: (error: Error) => void
}

type Script = (...args: (string | number)[]) => Promise<unknown>

/** Sessions and claims in Redis. Each step is one Lua script; see lua/. */
export class RedisLeaseStore implements LeaseStore {
  readonly #redis: Redis | Cluster
  readonly #prefix: string
  /** Resolves after the first attempt to connect. Commands wait for it instead of failing without a connection. */
  readonly #opened: Promise<void>
  readonly #scripts: Record<'beat' | 'locate' | 'release' | 'leave', Script>

  constructor(options: RedisLeaseStoreOptions) {
    this.#prefix = options.prefix ?? '{c}'
    if (!/^\{[^{}]+\}/.test(this.#prefix)) throw new Error('the prefix must begin with a hash tag, such as {c}')
    const { url } = options
    this.#redis = typeof url === 'string' ? new Redis(url, LEASE_CONNECTION) : url(LEASE_CONNECTION)
    this.#redis.on('error', options.onError ?? (() => undefined))
    this.#opened = new Promise((resolve) => {
      for (const event of ['ready', 'error', 'close'] as const) this.#redis.once(event, () => resolve())
    })
    this.#scripts = {
      beat: this.#define('beat', 3),
      locate: this.#define('locate', 3),
      release: this.#define('release', 2),
      leave: this.#define('leave', 2),
    }
  }

  async beat(
    self: NodeEntry,
    ttlMs: number,
    { first, previous }: { readonly first: boolean; readonly previous?: string },
  ): Promise<BeatResult> {
    const key = this.#session(self.inc)
    const [live, ...rows] = (await this.#scripts.beat(
      key,
      `${this.#prefix}:nodes`,
      previous === undefined ? key : this.#session(previous),
      self.inc,
      JSON.stringify({ address: self.address, state: self.state }),
      ttlMs,
      first ? '1' : '0',
      previous ?? '',
      this.#session(''),
    )) as [number, ...string[]]
    const nodes: NodeEntry[] = []
    for (let index = 0; index < rows.length; index += 2) nodes.push(entry(rows[index], rows[index + 1]))
    return { live: live === 1, nodes }
  }

  async locate(actor: string, candidates: readonly string[]): Promise<NodeEntry | undefined> {
    const key = this.#claim(actor)
    const [first = '', second = ''] = candidates
    const reply = (await this.#scripts.locate(
      key,
      first === '' ? key : this.#session(first),
      second === '' ? key : this.#session(second),
      first,
      second,
      this.#session(''),
      CLAIM_TTL_MS,
    )) as string[]
    return reply.length === 0 ? undefined : entry(reply[0], reply[1])
  }

  async release(actor: string, inc: string, heir: string | undefined): Promise<void> {
    const key = this.#claim(actor)
    const heirKey = heir === undefined ? key : this.#session(heir)
    await this.#scripts.release(key, heirKey, inc, heir ?? '', CLAIM_TTL_MS)
  }

  async leave(inc: string): Promise<void> {
    await this.#scripts.leave(this.#session(inc), `${this.#prefix}:nodes`, inc)
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }

  #session(inc: string): string {
    return `${this.#prefix}:sess:${inc}`
  }

  #claim(actor: string): string {
    return `${this.#prefix}:own:${actor}`
  }

  #define(name: string, keys: number): Script {
    const lua = readFileSync(new URL(`./lua/${name}-${keys}.lua`, import.meta.url), 'utf8')
    this.#redis.defineCommand(name, { numberOfKeys: keys, lua })
    const commands = this.#redis as unknown as Record<string, Script>
    return async (...args) => {
      await this.#opened
      return (commands[name] as Script).call(this.#redis, ...args)
    }
  }
}

function entry(inc = '', value = '{}'): NodeEntry {
  const { address, state } = JSON.parse(value) as { address: string; state: NodeState }
  return { inc, address, state }
}
