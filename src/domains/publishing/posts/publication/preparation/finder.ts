import { SECOND, type Clock } from '../../../../../core/clock.ts'
import type { Jobs } from '../../../../../core/job.ts'
import type { Sql } from '../../../../../core/sql.ts'
import { PLATFORMS } from '../../../../../platforms/registry.ts'
import { LEAD_MS, STOP_MS } from './desk.ts'
import { prepareTarget } from './jobs.ts'

/** Later ones are left to the publication. */
const LEAST_MS = STOP_MS + 10 * SECOND
/** How many targets one run takes, the next ones first. */
const MOST = 1_000

const preparing = PLATFORMS.filter(({ publishing }) => publishing?.preparation !== undefined)
const ALL = preparing.map(({ key }) => key)
const OF_TEXTS = preparing.filter(({ publishing }) => publishing?.preparation?.texts === true).map(({ key }) => key)

/** Finds targets that are due soon and can be prepared. */
export class Preparations {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #jobs: Jobs

  constructor(sql: Sql, clock: Clock, jobs: Jobs) {
    this.#sql = sql
    this.#clock = clock
    this.#jobs = jobs
  }

  /** Adds a job for each of them. */
  async add(): Promise<void> {
    const now = this.#clock.now()
    const at = (ms: number) => new Date(now + ms).toISOString()
    const rows = await this.#sql.rows<{ id: string; workspace_id: string }>(
      // Written by hand: Kysely does not see that the partial index on the status applies.
      `select t.id, t.workspace_id from post_targets t join posts p on p.id = t.post_id
       where t.status in ('scheduled', 'publishing', 'unconfirmed') and t.status = 'scheduled'
         and t.scheduled_at > $1 and t.scheduled_at <= $2 and (t.attempt_id is null or t.lease_until < $3)
         and (t.platform = any($4) or (t.platform = any($5) and p.asset_ids <> '{}')) and p.deleted_at is null
         and not exists (
           select 1 from post_segments s where s.target_id = t.id and s.prepared_for = t.scheduled_at)
       order by t.scheduled_at limit $6`,
      [at(LEAST_MS), at(LEAD_MS), at(0), OF_TEXTS, ALL, MOST],
    )
    for (const { id: targetId, workspace_id: workspaceId } of rows) {
      await this.#jobs.add(this.#sql, prepareTarget, { targetId }, { workspaceId, key: targetId })
    }
  }
}
