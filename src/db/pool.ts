import { accessSync, constants } from 'node:fs'
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

/** `sslmode` of libpq without `allow` and `prefer`, which would fall back to a connection without TLS. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full']
/** Files with certificates and keys, as parameters of a URL. */
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * The URL of a server for `pg`. Only its TLS parameters are used, with the meaning that they have in libpq:
 * `sslmode=require` encrypts, `verify-full` also checks the certificate. Other parameters are dropped, because they
 * could replace the settings of our sessions.
 * @throws Error that says what to change
 */
export function connectionString(url: string): string {
  const parsed = new URL(url)
  const given = new URLSearchParams(parsed.search)
  parsed.search = ''
  const mode = given.get('sslmode')
  if (mode !== null && !TLS_MODES.includes(mode)) {
    throw new Error(`sslmode must be ${TLS_MODES.slice(0, -1).join(', ')} or ${TLS_MODES.at(-1)}, not ${mode}`)
  }
  // The authorities of the system: those of Node, which it uses without a file.
  if (given.get('sslrootcert') === 'system') given.delete('sslrootcert')
  if (mode !== null) parsed.searchParams.set('sslmode', mode)
  for (const name of TLS_FILES) {
    const path = given.get(name)
    if (path === null) continue
    if (!canRead(path)) throw new Error(`${name}=${path} cannot be read. Name a file that this user can read`)
    parsed.searchParams.set(name, path)
  }
  if (parsed.search !== '') parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
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
  // Without listeners, a connection that the server drops would end the process. A query on it is rejected.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', (error) => log.debug({ error: error.message }, 'an idle connection to PostgreSQL was lost'))
  try {
    const client = await pool.connect()
    client.release()
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}
