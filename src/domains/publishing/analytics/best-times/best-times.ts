import { sql as raw } from 'kysely'
import { DAY, HOUR, type Clock } from '../../../../core/clock.ts'
import { WEEKDAYS } from '../../../../core/local-times.ts'
import type { Sql } from '../../../../core/sql.ts'
import { query } from '../../../../db/query.ts'
import { CONTENT_FIGURES, ENGAGEMENTS } from '../figures.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import type { WatchedAccounts } from '../reads/watched.ts'
import type { ReportPrinter } from '../report/printer.ts'
import { analyticsContent, type AnalyticsContentRow } from '../tables.ts'
import { zoneOfAudience } from './audience-zone.ts'
import type { BestTimesData, BestTimesFilter } from './schemas.ts'
import { MIN_POSTS, type Achievement } from './slots.ts'

/** A younger post does not have most of its engagements yet. */
const RIPE_MS = 2 * DAY
const DEFAULT_DAYS = 180
/** Only the newest posts are read. More would not change the answer, and would delay other requests. */
const MAX_POSTS = 2_000

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly watched: WatchedAccounts
  readonly audiences: AccountAudiences
  /** The shuffles take too long for the thread that serves requests. */
  readonly printer: Pick<ReportPrinter, 'scores'>
}

interface Span {
  readonly workspaceId: string
  readonly accountIds: readonly string[]
  readonly since: string
  readonly until: string
}

const newestPosts = query({ analyticsContent }, (db, $: Span) =>
  db
    .selectFrom('analyticsContent')
    .select(['accountId', 'publishedAt', ...CONTENT_FIGURES])
    .where('workspaceId', '=', $.workspaceId)
    .where('accountId', '=', raw<string>`any(${$.accountIds}::uuid[])`)
    .where('deletedAt', 'is', null)
    .where('publishedAt', '>=', $.since)
    .where('publishedAt', '<', $.until)
    .orderBy('publishedAt', 'desc')
    .limit(MAX_POSTS),
)

type Row = Pick<AnalyticsContentRow, (typeof CONTENT_FIGURES)[number]>

/** When posts of a workspace do best, from its own results. */
export class BestTimes {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @throws AppError not_found */
  async of(filter: BestTimesFilter): Promise<BestTimesData> {
    const { accountIds, days = DEFAULT_DAYS, figure = 'engagements', platform, workspaceId } = filter
    const { clock, printer, sql, watched } = this.#needs
    const { accounts } = await watched.load(workspaceId, accountIds)
    const now = clock.now()
    const [since, until] = [new Date(now - days * DAY).toISOString(), new Date(now - RIPE_MS).toISOString()]
    const ids = accounts.filter(({ account }) => platform?.includes(account.platform) ?? true)
    const { gap, zone } = await this.#zone(
      filter,
      ids.map(({ account }) => account.id),
    )
    const rows = await newestPosts.rows(sql, {
      workspaceId,
      accountIds: ids.map(({ account }) => account.id),
      since,
      until,
    })
    const slotOf = slotsIn(zone)
    const posts = rows.flatMap((row): Achievement[] => {
      const value = valueOf(row, figure)
      return value === null ? [] : [{ slot: slotOf(Date.parse(row.publishedAt)), group: row.accountId, value }]
    })
    const { best, slots } = await printer.scores(posts)
    const cells = slots.map((cell, slot) => ({ weekday: WEEKDAYS[Math.floor(slot / 24)]!, hour: slot % 24, ...cell }))
    return {
      status: posts.length < MIN_POSTS ? 'too_few_posts' : best.length === 0 ? 'no_difference' : 'found',
      timezone: zone,
      timezoneGap: gap,
      figure,
      publishedFrom: since,
      publishedUntil: until,
      postCount: posts.length,
      neededCount: MIN_POSTS,
      best: best.map((slot) => cells[slot]!),
      cells,
    }
  }

  /** The zone of the hours, and why it is not that of the audience. */
  async #zone({ timezone, timezoneOf, workspaceId }: BestTimesFilter, accountIds: readonly string[]) {
    const { audiences, clock, sql } = this.#needs
    if (timezone !== undefined) return { zone: timezone, gap: null }
    const found =
      timezoneOf === 'audience' && zoneOfAudience(await audiences.of({ workspaceId, accountIds }), clock.now())
    if (found && 'zone' in found) return { zone: found.zone, gap: null }
    return { zone: await timeZoneOf(sql, workspaceId), gap: found || null }
  }
}

function valueOf(row: Row, figure: NonNullable<BestTimesFilter['figure']>): number | null {
  const names = figure === 'engagements' ? ENGAGEMENTS : [figure]
  const known = names.flatMap((name) => row[name] ?? [])
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0)
}

/** The hour of the week of an instant. Zones change at quarters of an hour, so each quarter is looked up once. */
function slotsIn(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'long',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  const known = new Map<number, number>()
  return (at) => {
    const quarter = Math.floor(at / (HOUR / 4))
    let slot = known.get(quarter)
    if (slot === undefined) {
      const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
      const weekday = WEEKDAYS.findIndex((name) => name === parts['weekday']?.toLowerCase())
      slot = weekday * 24 + Number(parts['hour'])
      known.set(quarter, slot)
    }
    return slot
  }
}
