import { MikroORM, type EntityManager, type EntitySchema } from '@mikro-orm/postgresql'
import { Migrator } from '@mikro-orm/migrations'
import type { Pool, PoolClient } from 'pg'
import { AppError } from '../core/error.ts'
import type { Logger } from '../core/log.ts'
import type { Sql, SqlValue, Transaction } from '../core/sql.ts'
import { migrations } from './migrations/index.ts'
import { ColumnNames } from './naming.ts'
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

/** What bringing the schema up to date did. */
export interface MigrationReport {
  /** Names of the migrations that ran. */
  readonly ran: readonly string[]
  /** The database had no schema of Crier before: it holds nothing. */
  readonly wasEmpty: boolean
}

/** The database was migrated by a newer version: this one would write what that version does not expect. */
export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError'

  /** @param unknown migrations that have run and that this version does not know */
  constructor(unknown: readonly string[]) {
    super(
      `The database was brought up to date by a newer Crier (${unknown.join(', ')}). ` +
        'Start that version again, or restore a backup from before the upgrade.',
    )
  }
}

/** The database was made by a development version, whose migrations were replaced by the baseline of 0.1.0. */
export class DevelopmentSchemaError extends Error {
  override readonly name = 'DevelopmentSchemaError'

  constructor() {
    super(
      'The database was made by a development version from before 0.1.0, which cannot be upgraded. ' +
        'Start with an empty DATA_DIR, or name an empty database in DATABASE_URL.',
    )
  }
}

/** The first migration of the versions before the baseline. */
const BEFORE_BASELINE = '0001-foundation'

/**
 * PostgreSQL, for the ordinary path through MikroORM (`em`) and for hot paths through prepared statements on the same
 * pool. A server that is away is answered as 503 `database_unavailable` by whoever lets the error through.
 */
export class Database implements Sql {
  /** For those who need connections of their own kind. Holds a password. */
  readonly url: string
  readonly #orm: MikroORM
  readonly #pool: Pool
  readonly #sql: PreparedSql

  private constructor(url: string, orm: MikroORM, pool: Pool) {
    this.url = url
    this.#orm = orm
    this.#pool = pool
    this.#sql = new PreparedSql(pool)
  }

  /** Connects; does not migrate. */
  static async connect(options: DatabaseOptions): Promise<Database> {
    const orm = await MikroORM.init({
      clientUrl: options.url,
      entities: [...options.entities],
      entitiesTs: [...options.entities],
      discovery: { warnWhenNoEntities: false },
      extensions: [Migrator],
      namingStrategy: ColumnNames,
      // The job queues keep their tables in `bullmq` and migrate them. Functions belong to the migrations alone.
      schemaGenerator: { ignoreSchema: ['bullmq'], ignoreRoutines: true },
      migrations: { migrationsList: migrations, tableName: 'migrations', allOrNothing: true, snapshot: false },
      pool: { min: 2, max: options.poolSize, idleTimeoutMillis: 60_000 },
      driverOptions: {
        connectionTimeoutMillis: 5_000,
        keepAlive: true,
        // What is asked of a connection goes out at once; PostgreSQL answers in order. Otherwise a transaction's writes,
        // asked for together, would each wait for the answer to the one before.
        pipeline: true,
        application_name: 'crier',
        // Times as ISO text in UTC; a statement that runs away is ended by the server.
        options: '-c timezone=UTC -c statement_timeout=15000 -c idle_in_transaction_session_timeout=3000',
      },
      logger: (message) => options.log.debug({ part: 'orm' }, message),
    })
    const pool = await orm.em.getConnection().getNativeClient()
    return new Database(options.url, orm, pool)
  }

  /**
   * Brings the schema up to date. Nodes that start together wait for one another on an advisory lock.
   * @returns what was done
   * @throws SchemaTooNewError, DevelopmentSchemaError
   */
  async migrate(): Promise<MigrationReport> {
    const client = await this.#pool.connect()
    try {
      // Waiting for another node's migration may take longer than a statement is given.
      await client.query("set statement_timeout = '10min'")
      await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
      const before = await this.#orm.migrator.getExecuted()
      const known = new Set(migrations.map(({ name }) => name))
      const unknown = before.map(({ name }) => name).filter((name) => !known.has(name))
      if (unknown.includes(BEFORE_BASELINE)) throw new DevelopmentSchemaError()
      if (unknown.length > 0) throw new SchemaTooNewError(unknown)
      const ran = await this.#orm.migrator.up()
      return { ran: ran.map(({ name }) => name), wasEmpty: before.length === 0 }
    } finally {
      await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined)
      client.release(true)
    }
  }

  /** SQL that would bring the database to what the entities say; empty when both agree. */
  async drift(): Promise<string> {
    return this.#orm.schema.getUpdateSchemaSQL({ wrap: false })
  }

  /** A fresh unit of work. */
  em(): EntityManager {
    return this.#orm.em.fork()
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

  /** Runs `work` in one transaction; a throw rolls back. `em` is flushed before the commit when it was used. */
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
   * Hands out one connection. Whatever is thrown rolls back, but a commit that failed; a connection whose state is
   * unknown is closed, not returned.
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

  /** What `send` asks PostgreSQL for goes out in one piece. */
  inOnePiece<T>(client: PoolClient, send: () => T): T {
    return inOnePiece(client, send)
  }

  /**
   * Commits the transaction of a connection, with its last writes in the same round trip.
   * @param before a statement of the transaction that was sent and not waited for
   * @throws CommitFailedError with the cause: the transaction is over all the same
   */
  commit(client: PoolClient, sql: PreparedSql, writes: readonly Statement[], before: Promise<unknown>): Promise<void> {
    return commit(client, sql, writes, before)
  }

  /** A unit of work that runs on a connection with a transaction already open. */
  entityManagerOn(client: PoolClient): EntityManager {
    return boundEntityManager(this.#orm, withoutPool(client))
  }

  /** Milliseconds of a round trip. @throws AppError database_unavailable */
  async ping(): Promise<number> {
    const start = performance.now()
    await this.row('select 1 as one')
    return performance.now() - start
  }

  /** Connections in use, idle and waited for: for metrics. */
  poolStatus(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#pool.waitingCount }
  }

  async close(): Promise<void> {
    await this.#orm.close(true)
  }
}

/** Any number that other programs on the same database do not use. */
const MIGRATION_LOCK = 0x63_72_69_65

/** A class and no literal: a literal with a getter gets a shape of its own at each evaluation (see `RunningTurn`). */
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

  /** Flushes, commits and tells of it. @throws CommitFailedError */
  async end(): Promise<void> {
    await this.#em?.flush()
    await commit(this.#client, this.#sql)
    for (const action of this.#afterCommit) action()
  }
}
