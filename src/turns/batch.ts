import type { EntityManager } from '@mikro-orm/postgresql'
import type { PoolClient } from 'pg'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import type { Statement } from '../db/commit.ts'
import type { Database } from '../db/database.ts'

export type Row = Readonly<Record<string, unknown>>

/** Rows to insert at the end of a batch: one list per table and set of columns, in insertion order. */
export class PendingRows {
  readonly #groups = new Map<string, { statement: string; rows: Row[] }>()

  /** @param unlessThere skips rows that violate a unique index, instead of failing */
  add(table: string, row: Row, unlessThere = false): void {
    const columns = Object.keys(row)
    const key = `${table}(${columns.join()})${unlessThere ? '?' : ''}`
    const group = this.#groups.get(key)
    if (group) group.rows.push(row)
    else this.#groups.set(key, { statement: insertStatement(key, table, columns, unlessThere), rows: [row] })
  }

  addAll(other: PendingRows): void {
    for (const [key, { statement, rows }] of other.#groups) {
      const group = this.#groups.get(key)
      if (group) group.rows.push(...rows)
      else this.#groups.set(key, { statement, rows: [...rows] })
    }
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /** Removes all rows. @returns one statement per list */
  take(): Statement[] {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    return groups.map(({ statement, rows }) => ({ text: statement, values: [JSON.stringify(rows)] }))
  }

  /** Inserts and removes all rows. */
  async flush(sql: Sql): Promise<void> {
    await Promise.all(this.take().map(({ text, values }) => sql.run(text, values)))
  }
}

const NAME = /^[a-z_][a-z0-9_]*$/
const statements = new Map<string, string>()

/**
 * One statement for any number of rows: PostgreSQL casts each JSON field to the type of its column, so one prepared
 * statement serves every batch size. Written by hand, because `turn.insert` takes tables by name.
 */
function insertStatement(key: string, table: string, columns: readonly string[], unlessThere: boolean): string {
  let statement = statements.get(key)
  if (statement === undefined) {
    const bad = [table, ...columns].find((name) => !NAME.test(name))
    if (bad !== undefined) throw new Error(`${bad} is not a column or table name`)
    const names = columns.map((name) => `"${name}"`).join(', ')
    statement = `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $1::json)`
    if (unlessThere) statement += ' on conflict do nothing'
    statements.set(key, statement)
  }
  return statement
}

/** What the turns of one batch share: the connection, the rows to insert, and the events so far. */
export class Batch {
  readonly #database: Database
  readonly #client: PoolClient
  readonly sql: Sql
  readonly pending = new PendingRows()
  readonly events: WorkspaceEvent[] = []
  /** How many of the events are stored. Each takes one number of the workspace. */
  numbered = 0
  readonly afterCommit: (() => void | Promise<void>)[] = []

  constructor(database: Database, client: PoolClient, sql: Sql) {
    this.#database = database
    this.#client = client
    this.sql = sql
  }

  entityManager(): EntityManager {
    return this.#database.entityManagerOn(this.#client)
  }
}

const ONLY_READS = /^\s*select\b(?![\s\S]*\bfor\s+(?:update|no key update|share|key share)\b)/i

/** The SQL of one turn. Inserts waiting rows before each statement, and records whether the turn may have written. */
export class TurnSql implements Sql {
  readonly #batch: Batch
  readonly #own: PendingRows
  /** Also true after a failed statement: the transaction can then only be rolled back. */
  touched = false

  constructor(batch: Batch, own: PendingRows) {
    this.#batch = batch
    this.#own = own
  }

  async rows<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R[]> {
    return this.#within(text, () => this.#batch.sql.rows<R>(text, values))
  }

  async row<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R | undefined> {
    return this.#within(text, () => this.#batch.sql.row<R>(text, values))
  }

  async run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#within(text, () => this.#batch.sql.run(text, values))
  }

  async #within<T>(text: string, statement: () => Promise<T>): Promise<T> {
    try {
      await this.#settle()
      if (!ONLY_READS.test(text)) this.touched = true
      return await statement()
    } catch (error) {
      this.touched = true
      throw error
    }
  }

  /** Inserts all waiting rows, so that the next statement sees those of earlier turns and of this one. */
  async #settle(): Promise<void> {
    if (!this.#batch.pending.isEmpty) await this.#batch.pending.flush(this.#batch.sql)
    if (!this.#own.isEmpty) {
      this.touched = true
      await this.#own.flush(this.#batch.sql)
    }
  }
}
