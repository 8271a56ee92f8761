import type { PoolClient } from 'pg'
import type { WorkspaceEvent } from '../core/event.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import type { RowToInsert } from '../core/turn.ts'
import type { Statement } from '../db/commit.ts'
import type { Database } from '../db/database.ts'

type Row = RowToInsert['row']

/** Rows to insert at the end of a batch: one list per statement, in insertion order. */
export class PendingRows {
  readonly #lists = new Map<string, Row[]>()
  #size = 0

  /** The number of rows. */
  get size(): number {
    return this.#size
  }

  add({ statement, row }: RowToInsert): void {
    this.#size += 1
    const rows = this.#lists.get(statement)
    if (rows) rows.push(row)
    else this.#lists.set(statement, [row])
  }

  addAll(other: PendingRows): void {
    this.#size += other.#size
    for (const [statement, rows] of other.#lists) {
      const known = this.#lists.get(statement)
      if (known) known.push(...rows)
      else this.#lists.set(statement, [...rows])
    }
  }

  get isEmpty(): boolean {
    return this.#lists.size === 0
  }

  /** Removes all rows. @returns one statement per list */
  take(): Statement[] {
    const lists = [...this.#lists]
    this.#lists.clear()
    this.#size = 0
    return lists.map(([text, rows]) => ({ text, values: [JSON.stringify(rows)] }))
  }

  /** Inserts and removes all rows. */
  async flush(sql: Sql): Promise<void> {
    await Promise.all(this.take().map(({ text, values }) => sql.run(text, values)))
  }
}

/**
 * When so many rows wait, they are sent while the next turns of the batch run, so that PostgreSQL does not wait. The
 * number doubles with each time: PostgreSQL starts early, and a large batch still takes few statements.
 */
const ROWS_AHEAD = 12

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
  readonly #ahead: Promise<unknown>[] = []
  #rowsAhead = ROWS_AHEAD

  constructor(database: Database, client: PoolClient, sql: Sql) {
    this.#database = database
    this.#client = client
    this.sql = sql
  }

  /** Sends the rows to insert without waiting for the reply, if there are many. Call between turns. */
  sendAhead(): void {
    if (this.pending.size < this.#rowsAhead) return
    this.#rowsAhead *= 2
    const sent = this.#database.inOnePiece(this.#client, () => this.pending.flush(this.sql))
    // If it fails, so does every later statement, and the commit.
    sent.catch(() => undefined)
    this.#ahead.push(sent)
  }

  /** Resolves when all rows that were sent ahead are inserted. */
  async settled(): Promise<void> {
    await Promise.all(this.#ahead)
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
    await this.#batch.pending.flush(this.#batch.sql)
    if (!this.#own.isEmpty) {
      this.touched = true
      await this.#own.flush(this.#batch.sql)
    }
  }
}
