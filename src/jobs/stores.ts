import { createHash } from 'node:crypto'
import type * as BullMQ from 'bullmq'
import type { Pool } from 'pg'
import { QUEUE_NAMES } from '../core/job.ts'
import { redisClient, type RedisClient } from '../core/redis-client.ts'
import { sessionPool } from '../db/session-pool.ts'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import type { Store } from './backend.ts'

/** Where BullMQ stores its queues. */
export type StoreChoice =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }

/** Loads BullMQ, which takes 0.1 s, and connects it. */
export async function openStore(choice: StoreChoice, sql: Sql, log: Logger): Promise<Store> {
  return choice.kind === 'redis' ? redisStore(choice.url, await identity(sql), log) : postgresStore(choice.url, log)
}

/**
 * BullMQ on PostgreSQL. docs/decisions.md says why workers do not use the outbox directly.
 * It has its own schema beside the tables of the service. Commits are asynchronous, because everything that a crash of
 * the database can lose is in the outbox. Plans are generic from the first call on: statements in the functions of BullMQ
 * would be planned five times per connection, which takes longer than to run them.
 */
async function postgresStore(url: string, log: Logger): Promise<Store> {
  const library = await import('bullmq')
  const pool = sessionPool({
    url,
    // One connection per worker to listen, and some for queries.
    max: QUEUE_NAMES.length + 4,
    idleTimeoutMillis: 10_000,
    application_name: 'crier jobs',
    settings: { search_path: 'bullmq', synchronous_commit: 'off', plan_cache_mode: 'force_generic_plan' },
  })
  pool.on('error', (error) => log.debug({ error: error.message }, 'lost a database connection of the job queues'))
  // Every queue and every worker adds a listener.
  pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)
  await orClose(migrate(library, pool), () => void pool.end())
  return {
    kind: 'postgres',
    library,
    connection: pool,
    workerConnection: pool,
    factory: library.createPostgresBackend,
    prefix: 'crier',
    // A bulk call creates two temporary tables, which takes 3 ms and as many invalidations of caches in all connections.
    bulkFrom: 8,
    drainDelay: 15,
    wasEmptied: async () => false,
    close: () => pool.end(),
  }
}

/** Migrates the tables of the queues. Nodes that start at the same time wait for each other. */
async function migrate(library: typeof BullMQ, pool: Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await library.runMigrations(client)
  } finally {
    client.release()
  }
}

/** Creates the tables of the queues in advance, for template databases. */
export async function prepareStore(url: string): Promise<void> {
  const pool = sessionPool({ url, max: 1 })
  await migrate(await import('bullmq'), pool)
  await pool.end()
}

async function redisStore(url: string, installation: string, log: Logger): Promise<Store> {
  const library = await import('bullmq')
  const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))
  const connection = redisClient(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    commandTimeout: 5_000,
    connectTimeout: 2_000,
    socketTimeout: 10_000,
    retryStrategy,
    lazyConnect: true,
  })
  const quiet = (redis: RedisClient) =>
    redis.on('error', (error: Error) =>
      log.debug({ error: error.message }, 'error of the Redis connection of the job queues'),
    )
  await orClose(quiet(connection).connect(), () => connection.disconnect())
  const workerConnection = quiet(
    // Longer than a worker blocks.
    redisClient(url, { maxRetriesPerRequest: null, connectTimeout: 2_000, socketTimeout: 30_000, retryStrategy }),
  )
  const prefix = `{crier:${installation}}`
  // Only `wasEmptied` sets the marker. A node that starts after the store was emptied must not hide that.
  const mark = `${prefix}:filled`
  return {
    kind: 'redis',
    library,
    connection,
    workerConnection,
    factory: undefined,
    prefix,
    // Always: one round trip.
    bulkFrom: 1,
    drainDelay: 10,
    wasEmptied: async () => connection.status === 'ready' && (await connection.set(mark, '1', 'GET')) === null,
    close: async () => {
      connection.disconnect()
      workerConnection.disconnect()
    },
  }
}

/** Closes everything if opening fails, because the next attempt opens new connections. */
async function orClose(opening: Promise<unknown>, close: () => void): Promise<void> {
  try {
    await opening
  } catch (error) {
    close()
    throw error
  }
}

/** Identifies this database, so that two installations can share a Redis. */
async function identity(sql: Sql): Promise<string> {
  // Written by hand: PostgreSQL's own tables have no entities.
  const row = await sql.row<{ id: string }>(
    `select system_identifier::text || ':' || (select oid from pg_database where datname = current_database()) as id
     from pg_control_system()`,
  )
  return createHash('sha256')
    .update(row?.id ?? '')
    .digest('hex')
    .slice(0, 12)
}
