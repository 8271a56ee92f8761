import type { Pool, PoolClient } from 'pg'

/** A pooler gives a client another session for each transaction. */
export class SharedSessionsError extends Error {
  override readonly name = 'SharedSessionsError'

  constructor() {
    super(
      'a pooler gives each transaction another session (PgBouncer: pool_mode = transaction). Crier needs a session for each ' +
        'of its connections, for prepared statements, settings, LISTEN and advisory locks. Set pool_mode = session for this ' +
        'database, or name PostgreSQL itself in DATABASE_URL',
    )
  }
}

/** Poolers hand out the session that was used last, the one that was idle longest, or a random one. */
const ROUNDS = 8

/**
 * Checks that connections keep their sessions. A session has the id of its process: two connections that are open together
 * never have the same one, and one connection never changes it, unless a pooler shares sessions.
 * @throws SharedSessionsError
 */
export async function checkKeptSessions(pool: Pool): Promise<void> {
  const clients: PoolClient[] = []
  try {
    // A pool of one connection has nobody to share its session with, except other processes.
    const count = Math.min(2, pool.options.max)
    while (clients.length < count) clients.push(await pool.connect())
    const expected: (number | undefined)[] = []
    for (const client of clients) expected.push(await backend(client))
    if (new Set(expected).size < count) throw new SharedSessionsError()
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [index, client] of clients.entries()) {
        // Twice: a pooler that takes turns between two sessions would otherwise return to the same one.
        for (let time = 0; time < 2; time += 1) {
          if ((await backend(client)) !== expected[index]) throw new SharedSessionsError()
        }
      }
    }
  } finally {
    for (const client of clients) client.release()
  }
}

async function backend(client: PoolClient): Promise<number | undefined> {
  // Written by hand: PostgreSQL's own functions have no entities.
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}
