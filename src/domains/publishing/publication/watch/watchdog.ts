import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { posts, postTargets } from '../../posts/index.ts'
import type { SchedulerHeartbeat } from './heartbeat.ts'
import { publishDue } from '../../planning/index.ts'

/** A target that is this late without an attempt has lost its job. An attempt whose lease has ended is lost at once. */
const OVERDUE_MS = 30 * SECOND
/** How many workspaces one run looks after, those that wait longest first. */
const MAX = 500

interface WatchdogNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly jobs: Jobs
  readonly heartbeat: SchedulerHeartbeat
}

/** How many targets one run looks at, the oldest first. */
const MAX_TARGETS = 5_000

const stuckTargets = query({ posts, postTargets }, (db, $: { now: string }) => {
  const waiting = raw<string>`case when t.status = 'scheduled' then coalesce(t.next_attempt_at, t.scheduled_at)
    else timestamptz '-infinity' end`
  // The order and the limit let PostgreSQL read the start of `post_targets_stuck`. It cannot know how few targets are late.
  const late = db
    .selectFrom('postTargets as t')
    .select((e) => ['t.workspaceId', 't.postId', e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt').as('at')])
    // Literals, as in the index: PostgreSQL does not use it with parameters.
    .where(
      raw<boolean>`(t.status in ('scheduled', 'publishing') or t.status = 'unconfirmed'
        and (t.next_attempt_at is not null or t.attempt_id is not null))`,
    )
    .where(raw<boolean>`${waiting} < ${$.now}::timestamptz - ${raw.lit(OVERDUE_MS)} * interval '1 millisecond'`)
    .where((e) => {
      const at = e.fn.coalesce('t.nextAttemptAt', 't.scheduledAt')
      // Before its time, only a preparation has a lease.
      const lease = e.case().when('t.status', '<>', 'scheduled').then(e.ref('t.leaseUntil')).end()
      return e(e.fn.coalesce(lease, raw<string>`${at} + ${OVERDUE_MS} * interval '1 millisecond'`), '<', $.now)
    })
    .orderBy(waiting)
    .limit(raw.lit(MAX_TARGETS))
  return (
    db
      .selectFrom(late.as('late'))
      .select((e) => ['late.workspaceId', e.fn.countAll<number>().as('count')])
      // Of each target alone. As a join, it could read all posts.
      .where(raw<boolean>`(select p.deleted_at is null from posts p where p.id = late.post_id)`)
      .groupBy('late.workspaceId')
      .orderBy((e) => e.fn.min('late.at'))
      .limit(MAX)
  )
})

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
