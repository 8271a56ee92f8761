import { AppError } from '../core/error.ts'
import { SearchTooBroad } from '../core/errors.ts'
import { FairGate } from '../core/fair-gate.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from './database.ts'

/** The timeout of one statement of a search, in milliseconds. */
const STATEMENT_MS = 2_000

/** How many searches of a workspace may wait, and for how long. */
const WAITING = { waiting: 20, waitMs: 5_000 }

/** PostgreSQL's SQLSTATE for a statement that exceeded the timeout (`query_canceled`). */
const CANCELLED = '57014'

/**
 * Runs searches: reads whose cost grows with the data of the workspace. Each has a timeout and a plan for what it looks
 * for, and the number of concurrent searches is limited per workspace and for this node. A plan that is shared by all
 * searches would walk every row for a rare word.
 */
export class Searches {
  readonly #database: Database
  readonly #gate: FairGate
  readonly #statementMs: number

  /**
   * @param connections the size of the node's connection pool. Searches use less than half of it, and those of one
   * workspace half of that, so that connections remain for other requests.
   */
  constructor(database: Database, connections: number, statementMs = STATEMENT_MS) {
    this.#database = database
    const total = Math.max(1, Math.floor(connections * 0.4))
    this.#gate = new FairGate({ ...WAITING, total, each: Math.ceil(total / 2) })
    this.#statementMs = statementMs
  }

  /**
   * Runs `search` in a separate transaction.
   * @throws AppError search_too_broad when a statement exceeded the timeout; overloaded when too many searches wait
   */
  async run<T>(workspaceId: string, search: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#gate.run(workspaceId, async () => {
      try {
        return await this.#database.transaction(async (tx) => {
          // Written by hand: Kysely has no settings. To start parallel workers takes longer than most searches.
          await tx.rows(
            `select set_config('statement_timeout', $1, true), set_config('plan_cache_mode', 'force_custom_plan', true),
              set_config('max_parallel_workers_per_gather', '0', true)`,
            [String(this.#statementMs)],
          )
          return search(tx)
        })
      } catch (error) {
        if (!(error instanceof AppError) && (error as { code?: string }).code === CANCELLED) {
          throw SearchTooBroad({ cause: error })
        }
        throw error
      }
    })
  }
}
