import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { SchedulerHeartbeat } from './heartbeat.ts'
import { publishDue } from './jobs.ts'

/** A target that is this late without an attempt has lost its job. An attempt whose lease has ended is lost at once. */
const OVERDUE_MS = 30 * SECOND
/** How many workspaces one run looks after, those that wait longest first. */
const MOST = 500

interface WatchdogNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly jobs: Jobs
  readonly heartbeat: SchedulerHeartbeat
}

/** Finds targets that are due and make no progress: their job was lost, or the node of their publisher. */
export class TargetWatchdog {
  readonly #needs: WatchdogNeeds

  constructor(needs: WatchdogNeeds) {
    this.#needs = needs
  }

  /** Adds a job for each workspace that has such targets. */
  async run(log: Logger): Promise<void> {
    const { clock, heartbeat, jobs, sql } = this.#needs
    const stuck = await sql.rows<{ workspaceId: string; count: number }>(
      // Kysely has no way to compare with the first of several columns that is set.
      `select workspace_id as "workspaceId", count(*) from post_targets
       where status in ('scheduled', 'publishing', 'unconfirmed')
         -- Before its time, only a preparation has a lease.
         and coalesce(case when status <> 'scheduled' then lease_until end, coalesce(next_attempt_at, scheduled_at) + $3 * interval '1 millisecond') < $1
         and (status <> 'unconfirmed' or next_attempt_at is not null or attempt_id is not null)
         and exists (select 1 from posts p where p.id = post_targets.post_id and p.deleted_at is null)
       group by workspace_id order by min(coalesce(next_attempt_at, scheduled_at)) limit $2`,
      [new Date(clock.now()).toISOString(), MOST, OVERDUE_MS],
    )
    for (const { workspaceId } of stuck) await jobs.add(sql, publishDue, {}, { workspaceId, key: workspaceId })
    const count = stuck.reduce((sum, one) => sum + one.count, 0)
    if (count > 0) log.warn({ count }, 'posts were due and made no progress')
    await heartbeat.beat()
  }
}
