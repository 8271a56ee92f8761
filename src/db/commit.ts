import type { PoolClient } from 'pg'
import type { SqlValue } from '../core/sql.ts'
import type { PreparedSql } from './prepared-sql.ts'

/** A prepared statement and its parameters. */
export interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** A commit that took no effect. The transaction has ended, so there is nothing left to roll back. */
export class CommitFailedError extends Error {
  override readonly name = 'CommitFailedError'
}

/**
 * Sends the messages that `send` writes to PostgreSQL in one piece. A system call per message costs more than the
 * message.
 */
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
 * Commits, and sends the last writes in the same round trip: if one of them fails, PostgreSQL refuses the rest and the
 * commit rolls back. Waits for all replies, so that nothing is pending when the connection is released.
 * @param before a statement of the transaction that was sent but not awaited
 * @throws CommitFailedError with the first failure as its cause
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
  // If a statement has failed, PostgreSQL replies to COMMIT with ROLLBACK and no error.
  if (ended.status === 'fulfilled' && ended.value.command === 'COMMIT') return
  const reason = new Error('the transaction was rolled back, because a statement had failed before the commit')
  throw new CommitFailedError(reason.message, { cause: reason })
}
