import type { EntityManager } from '@mikro-orm/postgresql'
import type { Audience, EventData, EventType } from './event.ts'
import type { JobDeclaration, JobOptions } from './job.ts'
import type { Sql } from './sql.ts'
import type { Static, TSchema } from 'typebox'

/** Names something that the turns of an actor remember, and makes it when it is asked for first. */
export interface MemoryKey<T> {
  readonly name: string
  readonly make: () => T
}

/** A table that takes rows by property names (`Table` of `src/db`). */
export interface InsertTarget<N extends object> {
  readonly name: string
  /** The row by its database names. */
  toColumns(row: N): Record<string, unknown>
}

/**
 * One turn of a workspace's actor, as a handler sees it: a place in the workspace's order, inside one database
 * transaction. A turn does nothing but that: no HTTP, no other actor, no process. What it emits leaves after the
 * commit, and never when the transaction fails.
 */
export interface Turn {
  readonly workspaceId: string
  /** SQL inside the transaction. Rows that wait from `insert` are written before it runs. */
  readonly sql: Sql
  /** The unit of work inside the transaction; flushed when the turn ends. */
  readonly em: EntityManager
  /**
   * Adds a row at the end of the batch: rows of many turns for one table go out as one statement. Columns by their
   * database names; an object or array is written as JSON. A constraint that fails makes the batch run again turn by
   * turn, so that it hurts this turn alone.
   */
  insert(table: string, row: Readonly<Record<string, unknown>>): void
  /** The same for a declared table, with the row by property names. */
  insert<N extends object>(table: InsertTarget<N>, row: N): void
  /**
   * What the turns of this actor remember between transactions: a rebuildable copy of rows that only turns write, so
   * that a turn need not read them. Change it in `settled` alone. It is forgotten when a batch goes back and when the
   * actor moves.
   */
  memory<T>(key: MemoryKey<T>): T
  /** Runs when this turn has succeeded, before the next one of its batch: the place to change what is remembered. */
  settled(action: () => void): void
  /**
   * Announces a change to those who may see it.
   * @param only narrows them to a private channel's members, or to one user
   */
  emit<E extends EventType>(type: E, data: EventData<E>, only?: Audience): void
  /** Adds a job for this workspace: it runs after the commit, and never when the transaction fails. @returns its id */
  job<S extends TSchema>(declared: JobDeclaration<S>, data: Static<S>, options?: JobOptions): string
  /** Names what the turn acted on, for the audit log; the entry itself is written by the pipeline. */
  audit(target: {
    readonly kind: string
    readonly id: string
    readonly details?: Readonly<Record<string, unknown>>
  }): void
  /**
   * Begun after the commit, in order, and before the events leave, so that a notice of who may see what is heard before
   * them; a failure is logged and changes nothing. For notices that only help.
   */
  afterCommit(action: () => void | Promise<void>): void
}
