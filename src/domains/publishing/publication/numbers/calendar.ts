import { DAY } from '../../../../core/clock.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import { pageOf, pageRequest } from '../../../../core/page.ts'
import type { Sql, SqlValue } from '../../../../core/sql.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { dayBounds, dayKey, formatLocal, localAt, parseDate } from '../../calendar/index.ts'
import type { SlotFinder } from '../../planning/index.ts'
import { RESERVING, statusOfPost, type TargetStatus } from '../../posts/index.ts'
import { MAX_CALENDAR_DAYS, MAX_CALENDAR_ENTRIES, type CalendarAsked, type CalendarData } from './calendar-schemas.ts'

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

/** The posts of a workspace with their targets. A filter adds a condition, so that indexes serve each combination. */
const FROM = 'from post_targets t join posts p on p.id = t.post_id where t.workspace_id = $1 and p.deleted_at is null'

/** Adds values to a statement, and returns their parameters. */
type Add = (value: unknown) => string

// Written by hand for its filters. The page of (time, post) comes first, so that only its posts are read.
const entries = (conditions: string, limit: string) => `
  with times as (
    select t.scheduled_at, t.post_id, min(t.time_zone) as time_zone,
      array_agg(t.account_id::text order by t.position) as accounts,
      array_agg(t.platform order by t.position) as platforms,
      array_agg(t.status order by t.position) as statuses
    ${FROM} and t.scheduled_at >= $2 and t.scheduled_at < $3${conditions}
    group by t.scheduled_at, t.post_id
    order by t.scheduled_at, t.post_id
    limit ${limit})
  select u.scheduled_at as at, u.post_id as "postId", u.time_zone as "timeZone", u.accounts as "accountIds",
    u.platforms, u.statuses, p.view ->> 'content' as content, p.approval ->> 'status' as "approvalStatus",
    p.created_by as "createdBy", p.view -> 'media' -> 0 ->> 'assetId' as "assetId"
  from times u join posts p on p.id = u.post_id
  order by u.scheduled_at, u.post_id`

/**
 * How many entries, and how many posts of each account that use a budget, a day has. The first day is 1. Budgets are used
 * by all posts of an account, whatever the filters say.
 */
const counts = (accounts: string, conditions: string, reserving: string) => `
  with days as (
    select number::integer as day, start, stop
    from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as d (start, stop, number))
  select d.day, c.account_id as "accountId", c.entries, c.reserving
  from days d cross join lateral (
    select t.account_id, count(distinct (t.scheduled_at, t.post_id)) filter (where true${conditions})::integer as entries,
      (count(*) filter (where t.status = any(${reserving}::text[])))::integer as reserving
    ${FROM} and t.scheduled_at >= d.start and t.scheduled_at < d.stop${accounts}
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
    const { limit = MAX_CALENDAR_ENTRIES, workspaceId } = asked
    const { after } = pageRequest({ limit, ...(asked.cursor !== undefined && { cursor: asked.cursor }) })
    const timezone = asked.timezone ?? (await timeZoneOf(this.#sql, workspaceId))
    const days = daysOf(asked, timezone)
    const from = days[0]?.start ?? new Date(0)
    const to = days.at(-1)?.end ?? from
    const accountIds = valuesOf(asked.accountId)
    const [rows, counted, free] = await Promise.all([
      this.#run<EntryRow>([workspaceId, from.toISOString(), to.toISOString()], (add) => {
        const position =
          after === undefined
            ? ''
            : ` and (t.scheduled_at, t.post_id) > (${add(after.createdAt)}::timestamptz, ${add(after.id)}::uuid)`
        return entries(ofAccounts(asked, add) + filtersOf(asked, add) + position, add(limit + 1))
      }),
      this.#run<CountRow>(
        [workspaceId, days.map(({ start }) => start.toISOString()), days.map(({ end }) => end.toISOString())],
        (add) => counts(ofAccounts(asked, add), filtersOf(asked, add), add(RESERVING)),
      ),
      this.#slots.between(workspaceId, accountIds ?? [], { from, to }),
    ])
    const slots = Map.groupBy(free, (at) => dayKey(new Date(at), timezone))
    const countsOf = Map.groupBy(counted, ({ day }) => day)
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

  #run<Row extends object>(first: readonly SqlValue[], text: (add: Add) => string): Promise<Row[]> {
    const values = [...first]
    const statement = text((value) => `$${values.push(value as SqlValue)}`)
    return this.#sql.rows<Row>(statement, values)
  }
}

function ofAccounts({ accountId }: CalendarAsked, add: Add): string {
  return accountId === undefined ? '' : ` and t.account_id = any(${add(valuesOf(accountId))}::uuid[])`
}

function filtersOf({ authorId, label, status }: CalendarAsked, add: Add): string {
  return [
    status === undefined ? '' : ` and t.status = any(${add(valuesOf(status))}::text[])`,
    label === undefined ? '' : ` and p.labels && ${add(valuesOf(label))}::text[]`,
    authorId === undefined ? '' : ` and p.created_by = any(${add(valuesOf(authorId))}::uuid[])`,
  ].join('')
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
  if (last - first >= MAX_CALENDAR_DAYS * DAY) {
    throw refused('/query/to', 'range', `must be at most ${MAX_CALENDAR_DAYS - 1} days after \`from\``)
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
