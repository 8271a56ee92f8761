import type { EntityManager } from '@mikro-orm/postgresql'
import type { PoolClient } from 'pg'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import type { Statement } from '../db/commit.ts'
import type { Database } from '../db/database.ts'

export type Row = Readonly<Record<string, unknown>>

/** Rows that wait for the end of a batch, one list a table and column set, in the order in which they first came. */
export class PendingRows {
  readonly #groups = new Map<string, { statement: string; rows: Row[] }>()

  /** @param unlessThere rows that an index refuses are left out, not an error */
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

  /** Takes what waits as statements: one a group, however many rows. */
  take(): Statement[] {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    return groups.map(({ statement, rows }) => ({ text: statement, values: [JSON.stringify(rows)] }))
  }

  /** Writes and forgets what waits. */
  async flush(sql: Sql): Promise<void> {
    await Promise.all(this.take().map(({ text, values }) => sql.run(text, values)))
  }
}

const NAME = /^[a-z_][a-z0-9_]*$/
const statements = new Map<string, string>()

/**
 * One statement for any number of rows: PostgreSQL itself casts each JSON field to its column's type, so that one
 * prepared text serves every batch size.
 */
function insertStatement(key: string, table: string, columns: readonly string[], unlessThere: boolean): string {
  let statement = statements.get(key)
  if (statement === undefined) {
    const bad = [table, ...columns].find((name) => !NAME.test(name))
    if (bad !== undefined) throw new Error(`${bad} is no column or table name`)
    const names = columns.map((name) => `"${name}"`).join(', ')
    statement = `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $1::json)`
    if (unlessThere) statement += ' on conflict do nothing'
    statements.set(key, statement)
  }
  return statement
}

/** What the turns of one batch share: the connection, the rows that wait, the events so far. */
export class Batch {
  readonly #database: Database
  readonly #client: PoolClient
  readonly sql: Sql
  readonly pending = new PendingRows()
  readonly events: WorkspaceEvent[] = []
  /** Those of the events that are stored: how far the numbers of the workspace have gone. */
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

/** The SQL of one turn: writes what waits first, and remembers whether the turn has touched anything. */
export class TurnSql implements Sql {
  readonly #batch: Batch
  readonly #own: PendingRows
  /** Also after a statement that failed, whatever it was: the transaction can only go back then. */
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

  /** Writes every waiting row, so that a statement sees the turns before it and this one's own rows. */
  async #settle(): Promise<void> {
    if (!this.#batch.pending.isEmpty) await this.#batch.pending.flush(this.#batch.sql)
    if (!this.#own.isEmpty) {
      this.touched = true
      await this.#own.flush(this.#batch.sql)
    }
  }
}
