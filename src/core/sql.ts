import type { EntityManager } from '@mikro-orm/postgresql'

/** A value that can be the parameter of a statement. */
export type SqlValue = string | number | bigint | boolean | Date | null | Buffer | readonly unknown[] | object

/**
 * Prepared SQL, on the pool or inside a transaction. Each distinct text is prepared once per connection, so texts must
 * be constants and values must be parameters. Columns keep their database names; `timestamptz` is returned as an ISO
 * 8601 string with milliseconds and Z, `int8` as a number (an error beyond 2^53), `json` parsed.
 */
export interface Sql {
  rows<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R[]>
  /** The first row, or undefined. */
  row<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R | undefined>
  /** The number of rows that a statement changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

/** An open transaction: prepared SQL and, on request, a unit of work. */
export interface Transaction extends Sql {
  /** A unit of work on this transaction, flushed before the commit. */
  readonly em: EntityManager
  /** Runs after the commit, in order; never runs if the commit fails. For best-effort notices; must not throw. */
  afterCommit(action: () => void): void
}
