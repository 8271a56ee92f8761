import type { PoolClient } from 'pg'
import type { SqlValue } from '../core/sql.ts'
import type { PreparedSql } from './prepared-sql.ts'

/** A prepared statement and its parameters. */
export interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** A commit that took no effect. The transaction is over: there is nothing left to roll back. */
export class CommitFailedError extends Error {
  override readonly name = 'CommitFailedError'
}

/** What `send` asks PostgreSQL for goes out in one piece: a system call for each message costs more than the message. */
export function inOnePiece<T>(client: PoolClient, send: () => T): T {
  const { stream } = client.connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/**
 * Commits, with the last writes before it in the same round trip: after one that fails PostgreSQL refuses the rest, and
 * the commit takes all back. Waits for every answer, so that nothing of it is under way when the connection is given back.
 * @param before a statement of the transaction that was sent and not waited for
 * @throws CommitFailedError with the cause: the first failure
 */
export async function commit(
  client: PoolClient,
  sql: PreparedSql,
  writes: readonly Statement[] = [],
  before: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const [ended, first, ...written] = await Promise.allSettled(
    inOnePiece(client, () => {
      const sent = writes.map(({ text, values }) => sql.run(text, values))
      return [client.query('commit'), before, ...sent] as const
    }),
  )
  const failed = [first, ...written, ended].find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw new CommitFailedError('the commit failed', { cause: failed.reason })
  // PostgreSQL answers the commit of a transaction in which a statement has failed with ROLLBACK, and no error.
  if (ended.status === 'fulfilled' && ended.value.command === 'COMMIT') return
  const reason = new Error('the transaction was rolled back: it went on after a statement had failed')
  throw new CommitFailedError(reason.message, { cause: reason })
}
