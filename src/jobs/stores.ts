import { createHash } from 'node:crypto'
import type * as BullMQ from 'bullmq'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { QUEUE_NAMES } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Sql } from '../core/sql.ts'
import type { Store } from './backend.ts'

/** Where BullMQ keeps its queues. */
export type StoreChoice =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }

/** Loads BullMQ, which takes a tenth of a second, and connects it. */
export async function openStore(choice: StoreChoice, sql: Sql, log: Logger): Promise<Store> {
  return choice.kind === 'redis' ? redisStore(choice.url, await identity(sql), log) : postgresStore(choice.url, log)
}

/**
 * BullMQ, until leases, retries and fair lines work on the outbox itself: see docs/decisions.md.
 * In a schema of its own beside the tables of the service. Commits there are not waited for: what a crash of the
 * server takes back is in the outbox.
 */
async function postgresStore(url: string, log: Logger): Promise<Store> {
  const library = await import('bullmq')
  const pool = new Pool({
    connectionString: url,
    // One to listen for each worker, and some to work with.
    max: QUEUE_NAMES.length + 4,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 10_000,
    application_name: 'crier jobs',
    options: '-c search_path=bullmq -c synchronous_commit=off -c statement_timeout=15000',
  })
  pool.on('error', (error) => log.debug({ error: error.message }, 'a connection of the job queues was lost'))
  // Every queue and every worker listens, too.
  pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)
  await orClose(migrate(library, pool), () => void pool.end())
  return {
    kind: 'postgres',
    library,
    connection: pool,
    workerConnection: pool,
    factory: library.createPostgresBackend,
    prefix: 'crier',
    drainDelay: 15,
    wasEmptied: async () => false,
    close: () => pool.end(),
  }
}

/** Brings the tables of the queues up to date. Nodes that start together wait for one another. */
async function migrate(library: typeof BullMQ, pool: Pool): Promise<void> {
  const client = await pool.connect()
  try {
    await library.runMigrations(client)
  } finally {
    client.release()
  }
}

/** Makes the tables of the queues beforehand: for databases that are copied. */
export async function prepareStore(url: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 })
  await migrate(await import('bullmq'), pool)
  await pool.end()
}

async function redisStore(url: string, installation: string, log: Logger): Promise<Store> {
  const library = await import('bullmq')
  const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))
  const connection = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    commandTimeout: 5_000,
    connectTimeout: 2_000,
    retryStrategy,
    lazyConnect: true,
  })
  const quiet = (redis: Redis) =>
    redis.on('error', (error: Error) => log.debug({ error: error.message }, 'redis of the job queues'))
  await orClose(quiet(connection).connect(), () => connection.disconnect())
  const workerConnection = quiet(new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 2_000, retryStrategy }))
  const prefix = `{crier:${installation}}`
  // Set by whoever looks for it: a node that starts after the store was emptied must not hide that it was.
  const mark = `${prefix}:filled`
  return {
    kind: 'redis',
    library,
    connection,
    workerConnection,
    factory: undefined,
    prefix,
    drainDelay: 10,
    wasEmptied: async () => connection.status === 'ready' && (await connection.set(mark, '1', 'GET')) === null,
    close: async () => {
      connection.disconnect()
      workerConnection.disconnect()
    },
  }
}

/** What cannot be opened is opened anew later: nothing of this try may stay behind and go on trying. */
async function orClose(opening: Promise<unknown>, close: () => void): Promise<void> {
  try {
    await opening
  } catch (error) {
    close()
    throw error
  }
}

/** Tells this database from others, so that two installations may share a Redis. */
async function identity(sql: Sql): Promise<string> {
  const row = await sql.row<{ id: string }>(
    `select system_identifier::text || ':' || (select oid from pg_database where datname = current_database()) as id
     from pg_control_system()`,
  )
  return createHash('sha256')
    .update(row?.id ?? '')
    .digest('hex')
    .slice(0, 12)
}
