import { TypeOverrides, types as pgTypes, type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg'
import { AppError } from '../core/error.ts'
import { DatabaseUnavailable } from '../core/errors.ts'
import type { Sql, SqlValue } from '../core/sql.ts'
import { resumed } from '../tools/work-time.ts'

const OID = { int8: 20, json: 114, timestamptz: 1184, numeric: 1700, jsonb: 3802 }

/** Converts PostgreSQL's format in a UTC session, `2026-11-21 01:12:14.1+00`, to `2026-11-21T01:12:14.100Z`. */
export function isoTimestamp(text: string): string {
  // Whole milliseconds: nearly all times that we wrote ourselves.
  if (text.length === 26 && text[19] === '.' && text[23] === '+') return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  const dot = text.indexOf('.', 19)
  const fraction =
    dot < 0
      ? '000'
      : text
          .slice(dot + 1, text.indexOf('+', dot))
          .padEnd(3, '0')
          .slice(0, 3)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`
}

function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 ${text} is beyond 2^53`)
  return value
}

const types = new TypeOverrides(pgTypes)
types.setTypeParser(OID.int8, safeInteger)
types.setTypeParser(OID.numeric, Number)
types.setTypeParser(OID.timestamptz, isoTimestamp)
types.setTypeParser(OID.json, JSON.parse)
types.setTypeParser(OID.jsonb, JSON.parse)

/**
 * Names of prepared statements. Each connection keeps every named statement, so their number is bounded: requests choose
 * which optional filters a statement has, and there are thousands of combinations.
 */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** One name per text, so that it is parsed and planned once per connection. Undefined beyond the bound. */
  of(text: string): string | undefined {
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < this.#most) {
      name = `s${this.#names.size + 1}`
      this.#names.set(text, name)
    }
    return name
  }
}

const names = new StatementNames(2_000)

/** Prepared statements over a pool or a single connection. */
export class PreparedSql implements Sql {
  readonly #queryable: Pool | PoolClient

  constructor(queryable: Pool | PoolClient) {
    this.#queryable = queryable
  }

  async rows<R extends object>(text: string, values: readonly SqlValue[] = []): Promise<R[]> {
    return (await this.#query<R>(text, values)).rows
  }

  async row<R extends object>(text: string, values: readonly SqlValue[] = []): Promise<R | undefined> {
    return (await this.#query<R>(text, values)).rows[0]
  }

  async run(text: string, values: readonly SqlValue[] = []): Promise<number> {
    return (await this.#query(text, values)).rowCount ?? 0
  }

  async #query<R extends object>(text: string, values: readonly SqlValue[]): Promise<QueryResult<R>> {
    const name = names.of(text)
    // Without a name, the statement is parsed and planned each time.
    const config: QueryConfig = { ...(name !== undefined && { name }), text, values: values as unknown[], types }
    try {
      return await this.#queryable.query<R>(config)
    } catch (error) {
      throw translate(error)
    } finally {
      resumed()
    }
  }
}

/** SQLSTATE classes and codes of temporary failures. */
const AWAY = /^(08|57P0|53[34]00|25006)/
const AWAY_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN'])
const AWAY_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|pool after calling end/

/** Converts the error of a lost or missing database to `database_unavailable`. Other errors are unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const code = (error as { code?: string }).code ?? ''
  if (AWAY.test(code) || AWAY_CODES.has(code) || AWAY_MESSAGE.test(error.message)) {
    return DatabaseUnavailable({ retryAfter: 2, cause: error })
  }
  return error
}

/** Whether PostgreSQL cancelled a transaction because of a deadlock. */
export function isDeadlock(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === '40P01'
}

/** Whether an error is a violation of the named unique constraint or index. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const found = error as { code?: string; constraint?: string; cause?: unknown } | undefined
  if (found?.code === '23505') return constraint === undefined || found.constraint === constraint
  return found?.cause !== undefined && found.cause !== error && isUniqueViolation(found.cause, constraint)
}

/** Wraps a connection as a pool, for code that acquires and releases connections itself. */
export function withoutPool(client: PoolClient): Pool {
  const lent = new Proxy(client, {
    get: (target, key) => {
      if (key === 'release') return () => undefined
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { connect: async () => lent, end: async () => undefined } as unknown as Pool
}
