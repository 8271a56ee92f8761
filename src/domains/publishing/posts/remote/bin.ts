import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'

/** How long a deleted post is kept. */
const KEPT_MS = 30 * DAY
const BATCH = 500

/** The posts that were deleted. */
export class PostBin {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** Permanently deletes posts that were deleted over 30 days ago. @returns how many */
  async purge(signal: AbortSignal): Promise<number> {
    const before = new Date(this.#clock.now() - KEPT_MS).toISOString()
    let purged = 0
    for (;;) {
      // In small statements, because each post takes its targets, versions, attempts and comments with it.
      const deleted = await this.#sql.run(
        `delete from posts where id in (select id from posts where deleted_at < $1 order by deleted_at limit $2)`,
        [before, BATCH],
      )
      purged += deleted
      if (deleted < BATCH || signal.aborted) return purged
    }
  }
}
