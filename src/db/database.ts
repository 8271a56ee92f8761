import type { EntityManager, EntitySchema, MikroORM } from '@mikro-orm/postgresql'
import type { Pool, PoolClient } from 'pg'
import { AppError } from '../core/error.ts'
import type { Logger } from '../core/log.ts'
import type { Sql, SqlValue, Transaction } from '../core/sql.ts'
import { migrations } from './migrations/index.ts'
import { MIGRATIONS, openOrm } from './orm.ts'
import { DatabaseHistory } from './history.ts'
import { openPool } from './pool.ts'
import { PreparedSql, translate, withoutPool } from './prepared-sql.ts'
import { boundEntityManager } from './bound-entity-manager.ts'
import { commit, CommitFailedError, inOnePiece, type Statement } from './commit.ts'

export interface DatabaseOptions {
  readonly url: string
  readonly poolSize: number
  readonly entities: readonly EntitySchema[]
  readonly log: Logger
}

export type { Transaction }

/** The result of a migration run. */
export interface MigrationReport {
  /** Names of the migrations that ran. */
  readonly ran: readonly string[]
  /** The database had no Crier schema before, so it is empty. */
  readonly wasEmpty: boolean
}

/** A newer version has migrated the database. This version could write data that the newer version does not expect. */
export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError'

  /** @param unknown migrations that have run and that this version does not have */
  constructor(unknown: readonly string[]) {
    super(
      `The database was migrated by a newer version of Crier (${unknown.join(', ')}). ` +
        'Start that version again, or restore a backup from before the upgrade.',
    )
  }
}

/** A development version created the database. Its migrations were replaced by the baseline of 0.1.0. */
export class DevelopmentSchemaError extends Error {
  override readonly name = 'DevelopmentSchemaError'

  constructor() {
    super(
      'The database was created by a development version before 0.1.0, which cannot be upgraded. ' +
        'Start with an empty DATA_DIR, or name an empty database in DATABASE_URL.',
    )
  }
}

/** The first migration of the versions before the baseline. */
const BEFORE_BASELINE = '0001-foundation'

/**
 * PostgreSQL: prepared statements on a pool of connections. MikroORM, on the same pool, is opened for migrations and units
 * of work (`em`). If the server is unreachable, callers get 503 `database_unavailable`.
 */
export class Database implements Sql {
  /** For code that opens its own kind of connections. Contains a password. */
  readonly url: string
  readonly #options: DatabaseOptions
  readonly #pool: Pool
  readonly #history: DatabaseHistory
  readonly #sql: PreparedSql
  #opened: MikroORM | undefined

  private constructor(options: DatabaseOptions, pool: Pool, history: DatabaseHistory) {
    this.url = options.url
    this.#options = options
    this.#pool = pool
    this.#history = history
    this.#sql = new PreparedSql(pool)
  }

  /** Connects. It does not migrate. @throws Error if the server does not accept a connection */
  static async connect(options: DatabaseOptions): Promise<Database> {
    const history = new DatabaseHistory()
    return new Database(options, await openPool({ ...options, history }), history)
  }

  /**
   * Adds a listener that runs when another server has taken over, such as a promoted standby, before anything is read
   * from it. It may lack what was committed before.
   */
  onHistoryChange(listener: () => void): void {
    this.#history.onChange(listener)
  }

  /**
   * Migrates the schema. Nodes that start together wait for each other on an advisory lock.
   * @returns what was done
   * @throws SchemaTooNewError, DevelopmentSchemaError
   */
  async migrate(): Promise<MigrationReport> {
    const client = await this.#pool.connect()
    try {
      // Waiting for another node's migration may take longer than the usual statement timeout.
      await client.query("set statement_timeout = '10min'")
      // Written by hand: Kysely has no advisory locks.
      await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
      const before = await executedMigrations(client)
      const known = migrations.map(({ name }) => name)
      const unknown = before.filter((name) => !known.includes(name))
      if (unknown.includes(BEFORE_BASELINE)) throw new DevelopmentSchemaError()
      if (unknown.length > 0) throw new SchemaTooNewError(unknown)
      if (known.every((name) => before.includes(name))) return { ran: [], wasEmpty: false }
      const ran = await this.#orm().migrator.up()
      return { ran: ran.map(({ name }) => name), wasEmpty: before.length === 0 }
    } finally {
      await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
      client.release(true)
    }
  }

  /** The SQL that would bring the database to the state of the entities; empty if they agree. */
  async drift(): Promise<string> {
    return this.#orm().schema.getUpdateSchemaSQL({ wrap: false })
  }

  rows<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R[]> {
    return this.#sql.rows<R>(text, values)
  }

  row<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R | undefined> {
    return this.#sql.row<R>(text, values)
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#sql.run(text, values)
  }

  /** Runs `work` in one transaction. An exception rolls back. `em` is flushed before the commit if it was used. */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.withClient(async (client, sql) => {
      await client.query('begin')
      const transaction = new OpenTransaction(this, client, sql)
      const result = await work(transaction)
      await transaction.end()
      return result
    })
  }

  /**
   * Lends one connection. An exception rolls back, except for a failed commit. A connection in an unknown state is
   * closed instead of being returned to the pool.
   */
  async withClient<T>(work: (client: PoolClient, sql: PreparedSql) => Promise<T>): Promise<T> {
    let client: PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw translate(error)
    }
    let broken: Error | undefined
    try {
      return await work(client, new PreparedSql(client))
    } catch (error) {
      if (error instanceof CommitFailedError) {
        const cause = translate(error.cause)
        if (cause instanceof AppError) broken = cause
        throw cause
      }
      await client.query('rollback').catch((failed: Error) => {
        broken = failed
      })
      throw translate(error)
    } finally {
      client.release(broken)
    }
  }

  /** Sends the messages that `send` writes to PostgreSQL in one piece. */
  inOnePiece<T>(client: PoolClient, send: () => T): T {
    return inOnePiece(client, send)
  }

  /**
   * Commits the transaction of a connection, and sends its last writes in the same round trip.
   * @param before a statement of the transaction that was sent but not awaited
   * @throws CommitFailedError with its cause; the transaction has ended in that case too
   */
  commit(client: PoolClient, sql: PreparedSql, writes: readonly Statement[], before: Promise<unknown>): Promise<void> {
    return commit(client, sql, writes, before)
  }

  /** A unit of work on a connection whose transaction is already open. */
  entityManagerOn(client: PoolClient): EntityManager {
    return boundEntityManager(this.#orm(), withoutPool(client))
  }

  /**
   * The duration of a round trip in milliseconds.
   * @throws AppError database_unavailable
   */
  async ping(): Promise<number> {
    const start = performance.now()
    await this.row('select 1 as one')
    return performance.now() - start
  }

  /** The numbers of used and idle connections and of waiting requests, for metrics. */
  poolStatus(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** MikroORM, opened when it is first needed. */
  #orm(): MikroORM {
    this.#opened ??= openOrm(this.#options, this.#pool)
    return this.#opened
  }
}

/** SQLSTATE `undefined_table`. */
const UNDEFINED_TABLE = '42P01'

/** The names of the migrations that have run, in order; none in a new database. */
async function executedMigrations(client: PoolClient): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS} order by id`)
    return rows.map(({ name }) => name)
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return []
    throw error
  }
}

/** An arbitrary number that other programs on the same database do not use. */
const MIGRATION_LOCK = 0x63_72_69_65

/**
 * A class rather than a literal: each evaluation of a literal with a getter creates a new object shape (see
 * `RunningTurn`).
 */
class OpenTransaction implements Transaction {
  readonly #database: Database
  readonly #client: PoolClient
  readonly #sql: PreparedSql
  readonly #afterCommit: (() => void)[] = []
  #em: EntityManager | undefined

  constructor(database: Database, client: PoolClient, sql: PreparedSql) {
    this.#database = database
    this.#client = client
    this.#sql = sql
  }

  get em(): EntityManager {
    this.#em ??= this.#database.entityManagerOn(this.#client)
    return this.#em
  }

  rows<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R[]> {
    return this.#sql.rows<R>(text, values)
  }

  row<R extends object>(text: string, values?: readonly SqlValue[]): Promise<R | undefined> {
    return this.#sql.row<R>(text, values)
  }

  run(text: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#sql.run(text, values)
  }

  afterCommit(action: () => void): void {
    this.#afterCommit.push(action)
  }

  /**
   * Flushes, commits and runs the callbacks after the commit.
   * @throws CommitFailedError
   */
  async end(): Promise<void> {
    await this.#em?.flush()
    await commit(this.#client, this.#sql)
    for (const action of this.#afterCommit) action()
  }
}
