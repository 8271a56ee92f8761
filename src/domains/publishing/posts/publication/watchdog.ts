import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import type { SchedulerHeartbeat } from './heartbeat.ts'
import { resumeTarget } from './turns.ts'

/** A target that is this late without an attempt has lost its job. An attempt whose lease has ended is lost at once. */
const OVERDUE_MS = 30 * SECOND
/** How many targets one run resumes, so that a long outage does not end in a burst. */
const MOST = 500

/** Finds targets that are due and make no progress: their job was lost, or the node of their publisher. */
export class TargetWatchdog {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #turns: TurnRunner
  readonly #heartbeat: SchedulerHeartbeat

  constructor(sql: Sql, clock: Clock, turns: TurnRunner, heartbeat: SchedulerHeartbeat) {
    this.#sql = sql
    this.#clock = clock
    this.#turns = turns
    this.#heartbeat = heartbeat
  }

  async run(signal: AbortSignal, log: Logger): Promise<void> {
    const now = this.#clock.now()
    const stuck = await this.#sql.rows<{ id: string; workspace_id: string }>(
      // Kysely has no way to compare with the first of several columns that is set.
      `select id, workspace_id from post_targets
       where status in ('scheduled', 'publishing', 'unconfirmed')
         -- Before its time, only a preparation has a lease.
         and coalesce(case when status <> 'scheduled' then lease_until end, coalesce(next_attempt_at, scheduled_at) + $3 * interval '1 millisecond') < $1
         and (status <> 'unconfirmed' or next_attempt_at is not null or attempt_id is not null)
       order by coalesce(next_attempt_at, scheduled_at) limit $2`,
      [new Date(now).toISOString(), MOST, OVERDUE_MS],
    )
    for (const { id, workspace_id: workspaceId } of stuck) {
      if (signal.aborted) return
      try {
        await this.#turns.system(workspaceId, resumeTarget, { targetId: id })
      } catch (error) {
        // One workspace whose turns fail must not keep back the others.
        log.error({ error, targetId: id }, 'a post could not be resumed')
      }
    }
    if (stuck.length > 0) log.warn({ count: stuck.length }, 'posts were due and made no progress')
    await this.#heartbeat.beat()
  }
}
