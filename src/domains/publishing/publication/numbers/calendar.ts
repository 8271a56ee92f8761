import { DAY } from '../../../../core/clock.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import { pageOf, pageRequest } from '../../../../core/page.ts'
import type { Sql } from '../../../../core/sql.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { dayBounds, dayKey, formatLocal, localAt, parseDate } from '../../calendar/index.ts'
import type { SlotFinder } from '../../planning/index.ts'
import { RESERVING, statusOfPost, type TargetStatus } from '../../posts/index.ts'
import { MOST_CALENDAR_DAYS, MOST_CALENDAR_ENTRIES, type CalendarAsked, type CalendarData } from './calendar-schemas.ts'

interface EntryRow {
  readonly at: string
  readonly postId: string
  readonly timeZone: string | null
  readonly accountIds: readonly string[]
  readonly platforms: readonly CalendarData['entries'][number]['platforms'][number][]
  readonly statuses: readonly TargetStatus[]
  readonly content: string
  readonly approvalStatus: string | null
  readonly createdBy: string
  readonly assetId: string | null
}

/** The conditions of both statements. A filter that is null does not apply. */
const MATCHES = `t.workspace_id = $1 and p.deleted_at is null
  and ($4::uuid[] is null or t.account_id = any($4))
  and ($5::text[] is null or t.status = any($5))
  and ($6::text[] is null or p.labels && $6)
  and ($7::uuid[] is null or p.created_by = any($7))`

// Written by hand for its optional filters. The page of (time, post) comes first, so that only its posts are read.
const ENTRIES = `
  with times as (
    select t.scheduled_at, t.post_id, min(t.time_zone) as time_zone,
      array_agg(t.account_id::text order by t.position) as accounts,
      array_agg(t.platform order by t.position) as platforms,
      array_agg(t.status order by t.position) as statuses
    from post_targets t join posts p on p.id = t.post_id
    where ${MATCHES} and t.scheduled_at >= $2 and t.scheduled_at < $3
      and ($8::timestamptz is null or (t.scheduled_at, t.post_id) > ($8, $9::uuid))
    group by t.scheduled_at, t.post_id
    order by t.scheduled_at, t.post_id
    limit $10)
  select u.scheduled_at as at, u.post_id as "postId", u.time_zone as "timeZone", u.accounts as "accountIds",
    u.platforms, u.statuses, p.view ->> 'content' as content, p.approval ->> 'status' as "approvalStatus",
    p.created_by as "createdBy", p.view -> 'media' -> 0 ->> 'assetId' as "assetId"
  from times u join posts p on p.id = u.post_id
  order by u.scheduled_at, u.post_id`

/** How many entries, and how many posts of each account that use a budget, a day has. The first day is 1. */
const COUNTS = `
  with days as (
    select number::integer as day, start, stop
    from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as d (start, stop, number))
  select d.day, c.account_id as "accountId", c.entries, c.reserving
  from days d cross join lateral (
    select t.account_id, count(distinct (t.scheduled_at, t.post_id))::integer as entries,
      (count(*) filter (where t.status = any($8::text[])))::integer as reserving
    from post_targets t join posts p on p.id = t.post_id
    where ${MATCHES} and t.scheduled_at >= d.start and t.scheduled_at < d.stop
    group by grouping sets ((), (t.account_id))) as c`

interface CountRow {
  readonly day: number
  /** Null for the whole day. */
  readonly accountId: string | null
  readonly entries: number
  readonly reserving: number
}

/** The plan of a workspace by local days: slim entries, free slots of the queue, and the use of budgets. */
export class PostCalendar {
  readonly #sql: Sql
  readonly #slots: SlotFinder

  constructor(sql: Sql, slots: SlotFinder) {
    this.#sql = sql
    this.#slots = slots
  }

  /** @throws AppError validation_failed for an invalid span or cursor */
  async of(asked: CalendarAsked): Promise<CalendarData> {
    const { limit = MOST_CALENDAR_ENTRIES, workspaceId } = asked
    const { after } = pageRequest({ limit, ...(asked.cursor !== undefined && { cursor: asked.cursor }) })
    const timezone = asked.timezone ?? (await timeZoneOf(this.#sql, workspaceId))
    const days = daysOf(asked, timezone)
    const from = days[0]?.start ?? new Date(0)
    const to = days.at(-1)?.end ?? from
    const accountIds = valuesOf(asked.accountId)
    const filters = [accountIds, valuesOf(asked.status), valuesOf(asked.label), valuesOf(asked.authorId)]
    const position = [after?.createdAt ?? null, after?.id ?? null]
    const [rows, counts, free] = await Promise.all([
      this.#sql.rows<EntryRow>(ENTRIES, [
        workspaceId,
        from.toISOString(),
        to.toISOString(),
        ...filters,
        ...position,
        limit + 1,
      ]),
      this.#sql.rows<CountRow>(COUNTS, [
        workspaceId,
        days.map(({ start }) => start.toISOString()),
        days.map(({ end }) => end.toISOString()),
        ...filters,
        RESERVING,
      ]),
      this.#slots.between(workspaceId, accountIds ?? [], { from, to }),
    ])
    const slots = Map.groupBy(free, (at) => dayKey(new Date(at), timezone))
    const countsOf = Map.groupBy(counts, ({ day }) => day)
    const { items, nextCursor } = pageOf(
      rows,
      limit,
      ({ at, postId }) => ({ createdAt: at, id: postId }),
      (row) => entryOf(row, timezone),
    )
    return {
      timezone,
      from: from.toISOString(),
      to: to.toISOString(),
      byDay: days.map(({ day, start }, index) => {
        const some = countsOf.get(index + 1) ?? []
        return {
          day,
          startsAt: start.toISOString(),
          count: some.find(({ accountId }) => accountId === null)?.entries ?? 0,
          freeSlots: slots.get(day) ?? [],
          accounts: some.flatMap(({ accountId, reserving }) =>
            accountId === null || reserving === 0 ? [] : [{ accountId, postCount: reserving }],
          ),
        }
      }),
      entries: [...items],
      hasMore: nextCursor !== null,
      nextCursor,
    }
  }
}

function entryOf(row: EntryRow, timezone: string): CalendarData['entries'][number] {
  const at = new Date(row.at)
  return {
    postId: row.postId,
    scheduledFor: at.toISOString(),
    localTime: formatLocal(localAt(at.getTime(), timezone)),
    timezone: row.timeZone === timezone ? null : row.timeZone,
    text: Array.from(row.content.slice(0, 2 * TEXT_LENGTH))
      .slice(0, TEXT_LENGTH)
      .join(''),
    accountIds: [...row.accountIds],
    platforms: [...new Set(row.platforms)],
    status: statusOfPost(row.statuses),
    approvalStatus: row.approvalStatus,
    authorId: row.createdBy,
    thumbnailAssetId: row.assetId,
  }
}

const TEXT_LENGTH = 80

/** The local days of the span, which may be 23 or 25 hours long. @throws AppError validation_failed */
function daysOf({ from, to }: CalendarAsked, timezone: string): { day: string; start: Date; end: Date }[] {
  const first = parseDay(from, '/query/from')
  const last = parseDay(to, '/query/to')
  if (last < first) throw refused('/query/to', 'order', 'must not be before `from`')
  if (last - first >= MOST_CALENDAR_DAYS * DAY) {
    throw refused('/query/to', 'range', `must be at most ${MOST_CALENDAR_DAYS - 1} days after \`from\``)
  }
  return Array.from({ length: (last - first) / DAY + 1 }, (_, index) => {
    const day = new Date(first + index * DAY).toISOString().slice(0, 10)
    return { day, ...dayBounds(day, timezone) }
  })
}

/** Days are computed with the rules of time zones, which say nothing about other centuries. */
function parseDay(text: string, path: string): number {
  const at = parseDate(text)
  if (at === undefined) throw refused(path, 'format', 'must be a day such as 2026-12-01')
  const year = new Date(at).getUTCFullYear()
  if (year < 1970 || year >= 2200) throw refused(path, 'range', 'must be between the years 1970 and 2199')
  return at
}

function refused(path: string, code: string, message: string) {
  return ValidationFailed({ errors: [{ path, code, message }] })
}

function valuesOf<T extends string>(asked: T | readonly T[] | undefined): readonly T[] | null {
  if (asked === undefined) return null
  return typeof asked === 'string' ? [asked] : asked
}
