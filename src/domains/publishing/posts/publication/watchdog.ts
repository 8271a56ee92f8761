import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { posts, postTargets } from '../tables.ts'
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

const stuckTargets = query({ posts, postTargets }, (db, $: { now: string }) =>
  db
    .selectFrom('postTargets as t')
    .select((e) => ['t.workspaceId', e.fn.countAll<number>().as('count')])
    // Literals, as in the index `post_targets_stuck`: PostgreSQL does not use it with parameters.
    .where(
      raw<boolean>`(t.status in ('scheduled', 'publishing') or t.status = 'unconfirmed'
        and (t.next_attempt_at is not null or t.attempt_id is not null))`,
    )
    .where(
      raw<boolean>`case when t.status = 'scheduled' then coalesce(t.next_attempt_at, t.scheduled_at)
        else timestamptz '-infinity' end < ${$.now}::timestamptz - ${raw.lit(OVERDUE_MS)} * interval '1 millisecond'`,
    )
    .where((e) => {
      const at = e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt')
      // Before its time, only a preparation has a lease.
      const lease = e.case().when('t.status', '<>', 'scheduled').then(e.ref('t.leaseUntil')).end()
      return e.and([
        e(e.fn.coalesce(lease, raw<string>`${at} + ${OVERDUE_MS} * interval '1 millisecond'`), '<', $.now),
        e.exists(
          e.selectFrom('posts as p').select('p.id').whereRef('p.id', '=', 't.postId').where('p.deletedAt', 'is', null),
        ),
      ])
    })
    .groupBy('t.workspaceId')
    .orderBy((e) => e.fn.min(e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt')))
    .limit(MOST),
)

/** Finds targets that are due and make no progress: their job was lost, or the node of their publisher. */
export class TargetWatchdog {
  readonly #needs: WatchdogNeeds

  constructor(needs: WatchdogNeeds) {
    this.#needs = needs
  }

  /** Adds a job for each workspace that has such targets. */
  async run(log: Logger): Promise<void> {
    const { clock, heartbeat, jobs, sql } = this.#needs
    const stuck = await stuckTargets.rows(sql, { now: new Date(clock.now()).toISOString() })
    for (const { workspaceId } of stuck) await jobs.add(sql, publishDue, {}, { workspaceId, key: workspaceId })
    const count = stuck.reduce((sum, one) => sum + one.count, 0)
    if (count > 0) log.warn({ count }, 'posts were due and made no progress')
    await heartbeat.beat()
  }
}
