import { DAY, type Clock } from '../../../../core/clock.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import { instant } from '../../../../core/instant.ts'
import type { Sql } from '../../../../core/sql.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { dayBounds, dayKey } from '../../calendar/index.ts'
import { countPosts, type TargetStatus } from '../../posts/index.ts'
import type { MetricsData } from './schemas.ts'
import type { UpcomingPosts } from './upcoming.ts'

const MAX_DAYS = 92
const DEFAULT_DAYS = 30
const NEXT_UP = { days: 90, count: 5 }

interface Counted {
  readonly status: TargetStatus
  readonly platform: string
  /** The first day is 1. */
  readonly dayNumber: number
  /** Negative for targets of deleted posts, which are in another row as well. */
  readonly count: number
}

// Written by hand, because its union of a lateral join and a join with the same days is easier to read so.
// One range of the index for each day: to find the day of each target costs as much as all the rest. Deleted posts are few, because they are kept for 30 days, so their targets are
// subtracted: a join with all others would read their rows.
const COUNT = `
  with days as (
    select number::integer as "dayNumber", start, stop
    from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as d (start, stop, number))
  select d."dayNumber", c.status, c.platform, c.count
  from days d cross join lateral (
    select t.status, t.platform, count(*)::integer as count from post_targets t
    where t.workspace_id = $1 and t.scheduled_at >= d.start and t.scheduled_at < d.stop
    group by t.status, t.platform) as c
  union all
  select d."dayNumber", t.status, t.platform, -count(*)::integer
  from posts p
    join post_targets t on t.post_id = p.id
    join days d on t.scheduled_at >= d.start and t.scheduled_at < d.stop
  where p.workspace_id = $1 and p.deleted_at is not null
  group by 1, 2, 3`

/** Numbers of the posts of a workspace. */
export class PostMetrics {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #upcoming: UpcomingPosts

  constructor(sql: Sql, clock: Clock, upcoming: UpcomingPosts) {
    this.#sql = sql
    this.#clock = clock
    this.#upcoming = upcoming
  }

  /** The last 30 days by default. @throws AppError validation_failed for more than 92 days */
  async of(asked: { workspaceId: string; from?: string; to?: string }): Promise<MetricsData> {
    const { workspaceId } = asked
    const timezone = await timeZoneOf(this.#sql, workspaceId)
    const { days, from, to } = this.#range(asked, timezone)
    const isoOf = (times: readonly Date[]) => times.map((time) => time.toISOString())
    const bounds = [workspaceId, isoOf(days.map(({ start }) => start)), isoOf(days.map(({ end }) => end))]
    const [counted, unscheduledCount, nextUp] = await Promise.all([
      this.#sql.rows<Counted>(COUNT, bounds),
      countPosts(this.#sql, { workspaceId, hasTime: false }),
      this.#upcoming.list(workspaceId, NEXT_UP.days, { limit: NEXT_UP.count, after: undefined }),
    ])
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      timezone,
      count: total(counted),
      byStatus: grouped(counted, ({ status }) => status).map(([status, rows]) => ({ status, count: total(rows) })),
      byPlatform: grouped(counted, ({ platform }) => platform).map(([platform, rows]) => {
        return { platform, count: total(rows), publishedCount: total(rows, ['published']) }
      }),
      byDay: days.map(({ day, end, start }, index) => {
        const rows = counted.filter(({ dayNumber }) => dayNumber === index + 1)
        return {
          day,
          startsAt: start.toISOString(),
          endsAt: end.toISOString(),
          count: total(rows),
          publishedCount: total(rows, ['published']),
          failedCount: total(rows, ['failed', 'missed', 'partial']),
        }
      }),
      successRate: successRate(counted),
      unscheduledCount,
      nextUp: [...nextUp.items],
    }
  }

  #range(asked: { from?: string; to?: string }, timezone: string) {
    const now = new Date(this.#clock.now())
    const to = instant(asked.to) ?? dayBounds(dayKey(now, timezone), timezone).end
    requireNear(to, '/query/to')
    // From the beginning of a day, which may be 23 or 25 hours long.
    const first = dayKey(new Date(to.getTime() - DEFAULT_DAYS * DAY), timezone)
    const from = instant(asked.from) ?? dayBounds(first, timezone).start
    const path = '/query/from'
    if (from.getTime() >= to.getTime()) {
      throw ValidationFailed({ errors: [{ path, code: 'order', message: 'must be before `to`' }] })
    }
    if (to.getTime() - from.getTime() > (MAX_DAYS + 0.5) * DAY) {
      throw ValidationFailed({
        errors: [{ path, code: 'range', message: `must be at most ${MAX_DAYS} days before \`to\`` }],
      })
    }
    const days: { day: string; start: Date; end: Date }[] = []
    for (let at = from; at < to;) {
      const day = dayKey(at, timezone)
      const { end } = dayBounds(day, timezone)
      days.push({ day, start: at, end: end < to ? end : to })
      at = end
    }
    return { from, to, days }
  }
}

/** Days are computed with the rules of time zones, which say nothing about other centuries. */
function requireNear(at: Date, path: string): void {
  const year = at.getUTCFullYear()
  if (year >= 1970 && year < 2200) return
  throw ValidationFailed({ errors: [{ path, code: 'range', message: 'must be between the years 1970 and 2199' }] })
}

function total(rows: readonly Counted[], statuses?: readonly TargetStatus[]): number {
  return rows
    .filter(({ status }) => statuses === undefined || statuses.includes(status))
    .reduce((sum, { count }) => sum + count, 0)
}

function grouped<K extends string>(rows: readonly Counted[], keyOf: (row: Counted) => K): [K, Counted[]][] {
  return [...Map.groupBy(rows, keyOf)]
    .filter(([, group]) => total(group) > 0)
    .toSorted(([one], [two]) => (one < two ? -1 : 1))
}

function successRate(rows: readonly Counted[]): number | null {
  const ended = total(rows, ['published', 'partial', 'failed', 'missed'])
  return ended === 0 ? null : Math.round((total(rows, ['published']) / ended) * 10_000) / 10_000
}
