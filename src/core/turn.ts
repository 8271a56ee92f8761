import type { Caller } from './caller.ts'
import type { Audience, EventData, EventType } from './event.ts'
import type { JobDeclaration, JobOptions } from './job.ts'
import type { Sql } from './sql.ts'
import type { Static, TSchema } from 'typebox'

/** The key of a value in an actor's memory. `make` creates the value on first use. */
export interface MemoryKey<T> {
  readonly name: string
  readonly make: () => T
}

/** A table that accepts rows by property names (`Table` of `src/db`). */
export interface InsertTarget<N extends object> {
  toInsert(row: N): RowToInsert
}

/** A row to insert later. Rows with the same statement are inserted together. */
export interface RowToInsert {
  /** Its parameter is a JSON array of rows. */
  readonly statement: string
  /** By column names. */
  readonly row: Readonly<Record<string, unknown>>
}

/**
 * One turn of a workspace's actor, as a handler sees it: one command in the workspace's order, inside one database
 * transaction. A turn must not do anything else: no HTTP, no other actors, no processes. Its events are sent after the
 * commit, and never if the transaction fails.
 */
export interface Turn {
  readonly workspaceId: string
  /** Who requested the turn, and with what credential. Undefined for a system turn. */
  readonly caller?: Pick<Caller, 'userId' | 'via'> | undefined
  /** SQL inside the transaction. Rows buffered by `insert` are written before it runs. */
  readonly sql: Sql
  /**
   * Adds a row at the end of the batch: rows of several turns for one table are written with one statement. Objects and
   * arrays are written as JSON. If a constraint fails, the batch runs again turn by turn, so that only this turn fails.
   */
  insert<N extends object>(table: InsertTarget<N>, row: N): void
  /**
   * A value that this actor's turns keep between transactions: a copy of rows that only turns write, so that a turn
   * need not read them. It must be rebuildable. Change it only in `settled`. It is dropped when a batch rolls back and
   * when the actor moves.
   */
  memory<T>(key: MemoryKey<T>): T
  /** Runs after this turn has succeeded and before the next turn of the batch. Change `memory` here. */
  settled(action: () => void): void
  /**
   * Runs a part of the turn that may fail alone, behind a savepoint. If it throws, everything that it did is undone: its
   * statements, rows, events, jobs and audit targets. The error is thrown again, and the turn can go on.
   * @param options.undo undoes the part also if it succeeds, to learn what it would do
   */
  attempt<T>(part: () => Promise<T>, options?: { readonly undo?: boolean }): Promise<T>
  /**
   * Adds state that the turn keeps in memory, so that `attempt` can undo its changes.
   * @param take called when a part begins, and at once inside a part. It returns what restores the state
   */
  restorable(take: () => () => void): void
  /**
   * Sends an event to the members who may see it.
   * @param only narrows the recipients to a private channel's members, or to one user
   */
  emit<E extends EventType>(type: E, data: EventData<E>, only?: Audience): void
  /**
   * Adds a job for this workspace. It runs after the commit, and never if the transaction fails.
   * @returns its id
   */
  job<S extends TSchema>(declared: JobDeclaration<S>, data: Static<S>, options?: JobOptions): string
  /** Names the target of the turn for the audit log. The pipeline writes the entry itself. */
  audit(target: {
    readonly kind: string
    readonly id: string
    readonly details?: Readonly<Record<string, unknown>>
  }): void
  /**
   * Runs after the commit, in order, before the events are sent, so that a notice about permissions arrives before
   * them. A failure is logged and otherwise ignored. For best-effort notices.
   */
  afterCommit(action: () => void | Promise<void>): void
}
