import { MINUTE, SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { resumeTarget } from './turns.ts'

/** A target that is this late without an attempt has lost its job. */
const OVERDUE_MS = 30 * SECOND
/** How many targets one run resumes, so that a long outage does not end in a burst. */
const MOST = 500

/** Finds targets that are due and make no progress: their job was lost, or the node of their publisher. */
export class TargetWatchdog {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #turns: TurnRunner
  #ranAt: number | undefined

  constructor(sql: Sql, clock: Clock, turns: TurnRunner) {
    this.#sql = sql
    this.#clock = clock
    this.#turns = turns
  }

  async run(signal: AbortSignal, log: Logger): Promise<void> {
    const now = this.#clock.now()
    const stuck = await this.#sql.rows<{ id: string; workspace_id: string }>(
      // Kysely has no way to compare with the first of several columns that is set.
      `select id, workspace_id from post_targets
       where status in ('scheduled', 'publishing', 'unconfirmed')
         and coalesce(lease_until, next_attempt_at, scheduled_at) < $1
         and (status <> 'unconfirmed' or next_attempt_at is not null or attempt_id is not null)
       order by coalesce(next_attempt_at, scheduled_at) limit $2`,
      [new Date(now - OVERDUE_MS).toISOString(), MOST],
    )
    for (const { id, workspace_id: workspaceId } of stuck) {
      if (signal.aborted) return
      await this.#turns.system(workspaceId, resumeTarget, { targetId: id })
    }
    if (stuck.length > 0) log.warn({ count: stuck.length }, 'posts were due and made no progress')
    this.#ranAt = now
  }

  /** Whether the watchdog ran lately; undefined before the first run on this node. */
  isAlive(): boolean | undefined {
    return this.#ranAt === undefined ? undefined : this.#clock.now() - this.#ranAt < 2 * MINUTE
  }
}
