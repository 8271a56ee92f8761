import type { Clock } from '../../../../core/clock.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { posts } from '../../posts/index.ts'
import { KEPT_MS } from './restoring.ts'

const BATCH = 500

const purge = query({ posts }, (db, $: { before: string }) =>
  db
    .deleteFrom('posts')
    .where('id', 'in', (e) =>
      e.selectFrom('posts').select('id').where('deletedAt', '<', $.before).orderBy('deletedAt').limit(BATCH),
    ),
)

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
      const deleted = await purge.run(this.#sql, { before })
      purged += deleted
      if (deleted < BATCH || signal.aborted) return purged
    }
  }
}
