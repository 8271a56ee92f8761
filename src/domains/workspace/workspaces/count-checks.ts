import type { Sql } from '../../../core/sql.ts'
import { systemTurn } from '../../../core/system-turn.ts'
import type { Turn } from '../../../core/turn.ts'
import { greaterThan } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { workspaces } from './tables.ts'

/** Workspaces that are read at once. */
const PAGE = 500

/** Counts that triggers keep for each workspace. */
export interface KeptCounts {
  readonly name: string
  /**
   * Compares the counts of a workspace with its rows. All statements of `sql` see the same state of the database, so it
   * can read page after page.
   */
  agrees(sql: Sql, workspaceId: string): Promise<boolean>
  /** Counts again. No other turn of the workspace runs meanwhile. */
  recount(turn: Turn): Promise<void>
}

/**
 * Checks the counts that triggers keep, and repairs them. The triggers run in the transaction of each change, so a wrong
 * count means that somebody changed rows without them, or that a backup was restored in part.
 */
export class CountChecks {
  readonly #foundation: Pick<Foundation, 'database' | 'log' | 'turns'>
  readonly #kept: KeptCounts[] = []

  constructor(foundation: Pick<Foundation, 'database' | 'log' | 'turns'>) {
    this.#foundation = foundation
  }

  /** Adds the counts of a domain. */
  register(kept: KeptCounts): void {
    this.#kept.push(kept)
  }

  /** Checks every workspace. Stops early when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (let last: string | undefined; ;) {
      const where = { deletedAt: null, ...(last !== undefined && { id: greaterThan(last) }) }
      const rows = await workspaces.find(this.#foundation.database, where, {
        columns: ['id'],
        orderBy: ['id asc'],
        limit: PAGE,
      })
      for (const { id } of rows) {
        if (signal.aborted) return
        await this.#check(id)
      }
      last = rows.at(-1)?.id
      if (rows.length < PAGE) return
    }
  }

  /** Counts again in a turn of the workspace. */
  async recount(turn: Turn, name: string): Promise<void> {
    await this.#kept.find((kept) => kept.name === name)?.recount(turn)
  }

  async #check(workspaceId: string): Promise<void> {
    const { database, log, turns } = this.#foundation
    const wrong = await database.transaction(async (tx) => {
      // Written by hand: a setting of the transaction.
      await tx.run('set transaction isolation level repeatable read, read only')
      const found: string[] = []
      for (const kept of this.#kept) if (!(await kept.agrees(tx, workspaceId))) found.push(kept.name)
      return found
    })
    for (const name of wrong) {
      log.warn({ workspaceId, counts: name }, 'counts of a workspace were wrong and are counted again')
      await turns.system(workspaceId, recountTurn, { name })
    }
  }
}

/** Counts the rows of a workspace again. */
export const recountTurn = systemTurn<{ readonly name: string }>({
  name: 'workspaces.recount',
  run: async ({ turn, input, workspaces: services }) => services.counts.recount(turn, input.name),
})
