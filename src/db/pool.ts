import { setTimeout as delay } from 'node:timers/promises'
import { createPostgreSqlTypeParsers } from '@mikro-orm/postgresql'
import { TypeOverrides, types as pgTypes, type Pool } from 'pg'
import type { Logger } from '../core/log.ts'
import type { DatabaseHistory } from './history.ts'
import { checkKeptSessions } from './kept-sessions.ts'
import { sessionPool } from './session-pool.ts'

export interface PoolOptions {
  readonly url: string
  readonly poolSize: number
  readonly log: Logger
  /** Is told the history of each connection. */
  readonly history?: DatabaseHistory
}

const IDLE_MS = 60_000
/** Delay between attempts to connect after the last connection was lost. */
const RETRY_MS = 500

const TEXT_ARRAY = 1009 as Parameters<typeof pgTypes.getTypeParser>[0]

/** MikroORM parses dates and times itself. Prepared statements have types of their own. */
const types = new TypeOverrides(pgTypes)
const parsers = createPostgreSqlTypeParsers(pgTypes.getTypeParser(TEXT_ARRAY))
for (const [oid, parse] of Object.entries(parsers)) types.setTypeParser(Number(oid), parse)

/**
 * Opens a pool of connections.
 * @throws Error if the server does not accept one, or a pooler between does not keep sessions or their settings
 */
export async function openPool({ history, log, poolSize, url }: PoolOptions): Promise<Pool> {
  const pool = sessionPool({
    url,
    min: 2,
    max: poolSize,
    idleTimeoutMillis: IDLE_MS,
    // Statements are sent at once, and PostgreSQL replies in order. Otherwise the writes of a transaction that are issued
    // together would each wait for the reply to the previous one.
    pipeline: true,
    application_name: 'crier',
    settings: { idle_in_transaction_session_timeout: '3s' },
    types,
    ...(history && { history }),
  })
  // Without listeners, a connection that the server drops would end the process. A query on it is rejected.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', (error) => log.debug({ error: error.message }, 'an idle connection to PostgreSQL was lost'))
  try {
    await checkKeptSessions(pool)
    keepConnected(pool)
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}

/**
 * Connects again as soon as the last connection was lost. A node without requests would otherwise not notice that
 * another server has taken over.
 */
function keepConnected(pool: Pool): void {
  let isConnecting = false
  const connect = async () => {
    if (isConnecting) return
    isConnecting = true
    while (!pool.ending && pool.totalCount === 0) {
      try {
        const client = await pool.connect()
        client.release()
      } catch {
        await delay(RETRY_MS, undefined, { ref: false })
      }
    }
    isConnecting = false
  }
  pool.on('remove', () => void connect())
}
