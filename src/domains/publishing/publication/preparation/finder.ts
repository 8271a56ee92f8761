import { sql as raw } from 'kysely'
import { SECOND, type Clock } from '../../../../core/clock.ts'
import type { Jobs } from '../../../../core/job.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { PLATFORMS } from '../../../../platforms/registry.ts'
import { posts, postSegments, postTargets } from '../../posts/index.ts'
import { LEAD_MS, STOP_MS } from './claims.ts'
import { prepareTarget } from './jobs.ts'

/** Later ones are left to the publication. */
const MIN_MS = STOP_MS + 10 * SECOND
/** How many targets one run takes, the next ones first. */
const MAX = 1_000

const preparing = PLATFORMS.filter(({ publishing }) => publishing?.preparation !== undefined)
const ALL = preparing.map(({ key }) => key)
const keysOf = (texts: true | 'links') =>
  preparing.filter(({ publishing }) => publishing?.preparation?.texts === texts).map(({ key }) => key)
const OF_TEXTS = keysOf(true)
const OF_LINKS = keysOf('links')

interface Wanted {
  readonly now: string
  readonly after: string
  readonly until: string
  /** Platforms that can prepare any post, those that can prepare posts with links, and those with assets. */
  readonly ofTexts: readonly string[]
  readonly ofLinks: readonly string[]
  readonly all: readonly string[]
}

const soonDue = query({ posts, postSegments, postTargets }, (db, $: Wanted) =>
  db
    .selectFrom('postTargets as t')
    .innerJoin('posts as p', 'p.id', 't.postId')
    .select(['t.id', 't.workspaceId'])
    // Literals, because PostgreSQL does not use the partial index with parameters.
    .where(raw<boolean>`t.status in ('scheduled', 'publishing', 'unconfirmed')`)
    .where('t.status', '=', 'scheduled')
    .where('t.scheduledAt', '>', $.after)
    .where('t.scheduledAt', '<=', $.until)
    .where('p.deletedAt', 'is', null)
    .where((e) =>
      e.and([
        e.or([e('t.attemptId', 'is', null), e('t.leaseUntil', '<', $.now)]),
        e.or([
          e('t.platform', '=', raw<string>`any(${$.ofTexts})`),
          e.and([
            e('t.platform', '=', raw<string>`any(${$.ofLinks})`),
            // A domain without a scheme is read when the post is published.
            raw<boolean>`(p.body ->> 'link' is not null or t.override ->> 'link' is not null
              or strpos(coalesce(t.override ->> 'content', p.body ->> 'content'), '://') > 0)`,
          ]),
          e.and([e('t.platform', '=', raw<string>`any(${$.all})`), raw<boolean>`p.asset_ids <> '{}'`]),
        ]),
        e.not(
          e.exists(
            e
              .selectFrom('postSegments as s')
              .select('s.id')
              .whereRef('s.targetId', '=', 't.id')
              .whereRef('s.preparedFor', '=', 't.scheduledAt'),
          ),
        ),
      ]),
    )
    .orderBy('t.scheduledAt')
    .limit(MAX),
)

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
    const rows = await soonDue.rows(this.#sql, {
      now: at(0),
      after: at(MIN_MS),
      until: at(LEAD_MS),
      ofTexts: OF_TEXTS,
      ofLinks: OF_LINKS,
      all: ALL,
    })
    for (const { id: targetId, workspaceId } of rows) {
      await this.#jobs.add(this.#sql, prepareTarget, { targetId }, { workspaceId, key: targetId })
    }
  }
}
