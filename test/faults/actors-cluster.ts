import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Client, type QueryResultRow } from 'pg'
import { expect } from 'vitest'
import type { ActorStats, NodeOwnership } from '../../actors/index.ts'
import { createLog } from '../../src/core/log.ts'
import { openDataDirectory, type DataDirectory } from '../../src/setup/data-directory.ts'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/setup/embedded-postgres.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from '../support/tools.ts'
import { waitFor } from '../support/wait.ts'
import { TABLES } from './actors-host.ts'
import type { NodeReply, NodeSettings, NodeRequest } from './actors-node.ts'
import { Namespaces, type NetworkConnection } from './actors-namespaces.ts'
import { Proxy } from './actors-proxy.ts'

/** Factor of all times. 1 as in production. By default the tests use half, in assertions too. */
export const PACE = Number(process.env['FAULT_PACE'] ?? 0.5)
export const LEASE_MS = 5_000 * PACE
/** A lease that a healthy node keeps on a machine that is very busy, for tests in which none has to expire. */
export const LONG_LEASE_MS = 60_000
/** The longest time until a missing node is detected and replaced. */
export const FAIL_OVER_MS = LEASE_MS + 2_000

/**
 * Expects that a recovery took less than `mostMs`. Only with the times of production, on a machine that does nothing else
 * (`npm run soak:faults`): otherwise the speed of the machine decides, and the test has waited for the recovery anyway.
 */
export function expectWithin(tookMs: number, mostMs: number, leastMs = 0): void {
  if (process.env['FAULT_PACE'] === undefined) return
  expect(tookMs).toBeLessThan(mostMs)
  expect(tookMs).toBeGreaterThanOrEqual(leastMs)
}
/** Time until a joining node has received its share of actors. */
const SETTLED_MS = 3_000

interface Connections {
  readonly redis: NetworkConnection
  readonly database: NetworkConnection
  readonly links: NetworkConnection
}

/** A node process, and its network connections to everything else. */
export class TestNode {
  readonly name: string
  readonly child: ChildProcess
  readonly connections: Connections
  readonly #pending = new Map<number, (reply: NodeReply) => void>()
  #lastId = 0

  constructor(name: string, child: ChildProcess, connections: Connections) {
    this.name = name
    this.child = child
    this.connections = connections
    child.on('message', (reply: NodeReply) => {
      this.#pending.get(reply.id)?.(reply)
      this.#pending.delete(reply.id)
    })
    child.on('exit', () => {
      for (const [id, resolve] of this.#pending) resolve({ id, ok: false, reason: 'died' })
      this.#pending.clear()
    })
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  async ready(): Promise<void> {
    await new Promise<NodeReply>((resolve) => void this.#pending.set(0, resolve))
  }

  run(actor: string, op: string, timeoutMs: number): Promise<NodeReply> {
    return this.#request({ id: (this.#lastId += 1), type: 'run', actor, op, timeoutMs })
  }

  async stats(): Promise<ActorStats> {
    return (await this.#request({ id: (this.#lastId += 1), type: 'stats' })).value as ActorStats
  }

  async owners(): Promise<readonly NodeOwnership[]> {
    return (await this.#request({ id: (this.#lastId += 1), type: 'owners' })).value as NodeOwnership[]
  }

  /** Stops the node gracefully. @returns how long it took, in milliseconds */
  async stop(): Promise<number> {
    const { value } = await this.#request({ id: (this.#lastId += 1), type: 'stop' })
    this.child.disconnect()
    return value as number
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(signal)
  }

  async end(): Promise<void> {
    if (this.alive) {
      const exited = once(this.child, 'exit')
      this.child.kill('SIGKILL')
      await exited
    }
    for (const connection of Object.values(this.connections)) connection.close()
  }

  #request(request: NodeRequest): Promise<NodeReply> {
    if (!this.alive || !this.child.connected) return Promise.resolve({ id: request.id, ok: false, reason: 'died' })
    return new Promise((resolve) => {
      this.#pending.set(request.id, resolve)
      this.child.send(request, (error) => {
        if (error) resolve({ id: request.id, ok: false, reason: 'died' })
      })
    })
  }
}

export interface LogRow {
  readonly actor: string
  readonly seq: number
  readonly op: string
  readonly epoch: number
  readonly node: string
}

/** A fixed port, because all ports are free in a new namespace. */
const LINK_PORT = 7_700

/** Nodes with a real Redis and a real PostgreSQL. */
export class Cluster {
  readonly #folder: string
  readonly #directory: DataDirectory
  readonly #postgres: EmbeddedPostgres
  readonly #redisPort: number
  #redis: ChildProcess | undefined
  readonly nodes: TestNode[] = []
  #startedAt = 0
  readonly #namespaces = process.env['FAULT_NETWORK'] === 'namespaces' ? new Namespaces() : undefined
  readonly #proxies: Proxy[] = []

  private constructor(folder: string, directory: DataDirectory, postgres: EmbeddedPostgres, redisPort: number) {
    this.#folder = folder
    this.#directory = directory
    this.#postgres = postgres
    this.#redisPort = redisPort
  }

  static async start(): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'crier-faults-'))
    const directory = await openDataDirectory(folder)
    const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: createLog({ level: 'silent' }) })
    const cluster = new Cluster(folder, directory, postgres, await freeLoopbackPort())
    await cluster.query(TABLES)
    await cluster.startRedis()
    return cluster
  }

  get redisUrl(): string {
    return `redis://127.0.0.1:${this.#redisPort}`
  }

  async startNode(name: string, leaseMs = LEASE_MS): Promise<TestNode> {
    const { settings, connections, exec } = await (this.#namespaces
      ? this.#inNamespace(this.#namespaces)
      : this.#behindProxies())
    const child = fork(new URL('./actors-node.ts', import.meta.url), {
      env: {
        ...process.env,
        NODE_SETTINGS: JSON.stringify({ ...settings, name, leaseMs } satisfies NodeSettings),
      },
      execArgv: [],
      ...exec,
    })
    const node = new TestNode(name, child, connections)
    this.nodes.push(node)
    await node.ready()
    this.#startedAt = performance.now()
    return node
  }

  /** Waits until actors no longer move to a new node. */
  async settled(): Promise<void> {
    await delay(Math.max(0, this.#startedAt + SETTLED_MS - performance.now()))
  }

  async #behindProxies() {
    const linkPort = await freeLoopbackPort()
    const { redis, database } = this.#targets
    const connections = {
      redis: await Proxy.start(redis),
      database: await Proxy.start(database),
      links: await Proxy.start(() => ({ host: '127.0.0.1', port: linkPort })),
    }
    const settings = {
      redisUrl: `redis://127.0.0.1:${connections.redis.port}`,
      databaseUrl: this.#databaseUrl('127.0.0.1', connections.database.port),
      linkHost: '127.0.0.1',
      linkPort,
      advertise: `127.0.0.1:${connections.links.port}`,
    }
    return { settings, connections, exec: {} }
  }

  /** Redis and PostgreSQL listen on loopback. The bridge reaches them through a relay that never drops packets. */
  async #inNamespace(namespaces: Namespaces) {
    const { redisHost, databaseHost } = namespaces
    const redis = await Proxy.start(this.#targets.redis, redisHost)
    const database = await Proxy.start(this.#targets.database, databaseHost)
    this.#proxies.push(redis, database)
    const { host, connections, ...exec } = namespaces.add()
    const settings = {
      redisUrl: `redis://${redisHost}:${redis.port}`,
      databaseUrl: this.#databaseUrl(databaseHost, database.port),
      linkHost: host,
      linkPort: LINK_PORT,
      advertise: `${host}:${LINK_PORT}`,
    }
    return { settings, connections, exec }
  }

  get #targets() {
    const port = Number(new URL(this.#postgres.url).port)
    return {
      redis: () => ({ host: '127.0.0.1', port: this.#redisPort }),
      database: () => ({ host: '127.0.0.1', port }),
    }
  }

  #databaseUrl(host: string, port: number): string {
    const url = new URL(this.#postgres.url)
    url.hostname = host
    url.port = String(port)
    return url.href
  }

  async startRedis(): Promise<void> {
    const { command, env } = toolPath('redis-server')
    const args = ['--port', String(this.#redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    this.#redis = spawn(command, args, { cwd: this.#folder, env: { ...process.env, ...env }, stdio: 'ignore' })
    await this.#withRedis((redis) => waitFor(() => redis.ping()))
  }

  async killRedis(): Promise<void> {
    const redis = this.#redis
    if (redis === undefined) return
    this.#redis = undefined
    redis.kill('SIGKILL')
    await once(redis, 'exit')
  }

  async flushRedis(): Promise<void> {
    await this.#withRedis((redis) => redis.flushall())
  }

  /** Kills the server with SIGKILL, which ends all its sessions; the supervisor restarts it. */
  killPostgres(): void {
    const [pid] = readFileSync(join(this.#folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
  }

  async query<R extends QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = new Client({ connectionString: this.#postgres.url })
    await client.connect()
    try {
      return (await client.query<R>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  async log(): Promise<LogRow[]> {
    return this.query<LogRow & QueryResultRow>(
      'select actor, seq::int, op, epoch::int, node from log order by actor, seq',
    )
  }

  /** Ends all nodes and clears their data. */
  async clear(): Promise<void> {
    await Promise.all(this.nodes.splice(0).map((node) => node.end()))
    if (this.#redis === undefined) await this.startRedis()
    await this.flushRedis()
    await waitFor(() => this.query('truncate actor_fence, log, turn_outcomes').then(() => true))
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end()))
    for (const proxy of this.#proxies) proxy.close()
    this.#namespaces?.close()
    await this.killRedis()
    await this.#postgres.stop()
    this.#directory.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.redisUrl, { maxRetriesPerRequest: null })
    redis.on('error', () => undefined)
    try {
      return await work(redis)
    } finally {
      redis.disconnect()
    }
  }
}
