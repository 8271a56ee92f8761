import type { EntityManager } from '@mikro-orm/postgresql'

/** A value that can be a parameter of a statement. */
export type SqlValue = string | number | bigint | boolean | Date | null | Buffer | readonly unknown[] | object

/**
 * Prepared SQL, on the pool or inside a transaction. Every distinct text is prepared once a connection, so texts are
 * constants and values are parameters, always. Columns come back by their database names; `timestamptz` as ISO 8601
 * strings with milliseconds and Z, `int8` as number (an error beyond 2^53), `json` parsed.
 */
export interface Sql {
  rows<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R[]>
  /** The first row, if there is one. */
  row<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R | undefined>
  /** How many rows a statement changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

/** A transaction in hand: prepared SQL, and a unit of work when one is asked for. */
export interface Transaction extends Sql {
  /** A unit of work on this very transaction; flushed before the commit. */
  readonly em: EntityManager
  /** Runs after the commit, in order, and never when it fails. For notices that only help; must not throw. */
  afterCommit(action: () => void): void
}
