import { createPostgreSqlTypeParsers } from '@mikro-orm/postgresql'
import { Pool, TypeOverrides, types as pgTypes } from 'pg'
import type { Logger } from '../core/log.ts'

export interface PoolOptions {
  readonly url: string
  readonly poolSize: number
  readonly log: Logger
}

const CONNECT_MS = 5_000
const IDLE_MS = 60_000

const TEXT_ARRAY = 1009 as Parameters<typeof pgTypes.getTypeParser>[0]

/** MikroORM parses dates and times itself. Prepared statements have types of their own. */
const types = new TypeOverrides(pgTypes)
const parsers = createPostgreSqlTypeParsers(pgTypes.getTypeParser(TEXT_ARRAY))
for (const [oid, parse] of Object.entries(parsers)) types.setTypeParser(Number(oid), parse)

/**
 * The URL of a server as `pg` takes it, with `sslmode` as libpq and `psql` understand it: `require` encrypts, `verify-full`
 * also checks the certificate.
 */
export function connectionString(url: string): string {
  const parsed = new URL(url)
  if (parsed.searchParams.has('sslmode')) parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** Opens a pool of connections. @throws Error if the server does not accept one */
export async function openPool({ log, poolSize, url }: PoolOptions): Promise<Pool> {
  const pool = new Pool({
    connectionString: connectionString(url),
    min: 2,
    max: poolSize,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    // Statements are sent at once, and PostgreSQL replies in order. Otherwise the writes of a transaction that are issued
    // together would each wait for the reply to the previous one.
    pipeline: true,
    application_name: 'crier',
    // Times are ISO text in UTC. The server cancels statements that run too long.
    options: '-c timezone=UTC -c statement_timeout=15000 -c idle_in_transaction_session_timeout=3000',
    types,
  })
  // Without listeners, a connection that the server drops would end the process. Queries on it are rejected anyway.
  const onError = (error: Error) => log.warn({ error }, 'a connection to PostgreSQL was lost')
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  try {
    const client = await pool.connect()
    client.release()
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}
