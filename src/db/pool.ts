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
 * How `pg` connects to a server. `sslmode` means what it means to libpq and `psql`: `require` encrypts, and `verify-full` also
 * checks the certificate.
 * @param options settings of the session, which take precedence over the `options` of the URL
 */
export function connectionTo(url: string, options = ''): { connectionString: string; options: string } {
  const parsed = new URL(url)
  const { searchParams } = parsed
  // Otherwise `pg` would replace our settings with those of the URL.
  const given = searchParams.get('options') ?? ''
  searchParams.delete('options')
  if (searchParams.has('sslmode')) searchParams.set('uselibpqcompat', 'true')
  return { connectionString: parsed.href, options: `${given} ${options}`.trim() }
}

/** Opens a pool of connections. @throws Error if the server does not accept one */
export async function openPool({ log, poolSize, url }: PoolOptions): Promise<Pool> {
  const pool = new Pool({
    // Times are ISO text in UTC. The server cancels statements that run too long.
    ...connectionTo(url, '-c timezone=UTC -c statement_timeout=15000 -c idle_in_transaction_session_timeout=3000'),
    min: 2,
    max: poolSize,
    idleTimeoutMillis: IDLE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    // Statements are sent at once, and PostgreSQL replies in order. Otherwise the writes of a transaction that are issued
    // together would each wait for the reply to the previous one.
    pipeline: true,
    application_name: 'crier',
    types,
  })
  // Without listeners, a connection that the server drops would end the process. A query on it is rejected.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', (error) => log.debug({ error }, 'an idle connection to PostgreSQL was lost'))
  try {
    const client = await pool.connect()
    client.release()
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}
