import type { Sql } from '../../../../core/sql.ts'
import { FIGURES, isAccountFigure, type FigureName } from '../figures.ts'
import type { SampleRetention } from '../storage/retention.ts'
import { boundsOf, dayOf } from '../storage/zone-days.ts'
import { notReported, type WatchedAccount, type WatchedAccounts } from './watched.ts'

const ABOUT: Readonly<Record<FigureName, readonly [title: string, description: string]>> = {
  followers: ['Followers', 'Accounts that follow, or subscribers'],
  following: ['Following', 'Accounts that are followed'],
  contentCount: [
    'Posts on the platform',
    'Posts that the platform counts, also those from before the account was connected',
  ],
  views: ['Views', 'How often posts were shown or played, as the platform counts it'],
  reach: ['Reach', 'How many accounts saw posts. The platform counts each account once per post'],
  likes: ['Likes', 'Likes and other reactions'],
  comments: ['Comments', 'Comments and replies'],
  shares: ['Shares', 'Shares, reposts and quotes'],
  saves: ['Saves', 'Bookmarks and saves'],
  clicks: ['Clicks', 'Clicks on links of posts'],
  watchSeconds: ['Watch time', 'How long videos were watched'],
}

const PATH = '/api/analytics'
const STATS = `${PATH}/platforms`
const SERIES = `${PATH}/platforms/series?figure=views`
const CONTENT = `${PATH}/content`

const DERIVED = [
  ['engagements', 'Engagements', 'likes + comments + shares + saves', 'getPlatformStats', STATS],
  ['engagementRateByFollowers', 'Engagement rate by followers', 'engagements / followers', 'getPlatformStats', STATS],
  ['engagementRateByReach', 'Engagement rate by reach', 'engagements / reach', 'getPlatformStats', STATS],
  ['gained', 'Gain', 'value − the last value before the time', 'getPlatformTimeSeries', `${SERIES}&interval=week`],
  ['changeRate', 'Growth', 'change / (value − change)', 'getFollowerTrend', `${PATH}/followers?interval=month`],
  [
    'comparison',
    'Compared with the span before',
    '(value − previousValue) / previousValue',
    'getPlatformStats',
    `${STATS}?compare=true`,
  ],
  [
    'halfLifeHours',
    'Half-life',
    'hours from publication to half of the newest value',
    'getContentTimeSeries',
    `${CONTENT}/{id}/series?figure=views`,
  ],
  [
    'score',
    'Best time',
    'exp(sum / (weight + noise / spread))',
    'getBestTimes',
    `${PATH}/best-times?figure=engagements&days=180`,
  ],
  ['share', 'Share of the audience', 'count / the sum of all groups', 'getAudience', `${PATH}/audience`],
] as const

const DIMENSIONS = [
  ['day', 'Days in the zone of the workspace', `${SERIES}&interval=day`],
  ['week', 'Weeks, from Monday if your settings say nothing else', `${SERIES}&interval=week`],
  ['month', 'Calendar months', `${SERIES}&interval=month`],
  ['account', 'Accounts', STATS],
  ['platform', 'Platforms: each account names its own', STATS],
  ['content', 'Posts', `${CONTENT}?sort=likes`],
  ['origin', 'Whether Crier published a post, or another program', CONTENT],
] as const

/** What a report can be built of. */
export class ReportCatalogue {
  readonly #sql: Sql
  readonly #watched: WatchedAccounts
  readonly #retention: Pick<SampleRetention, 'of'>

  constructor(sql: Sql, watched: WatchedAccounts, retention: Pick<SampleRetention, 'of'>) {
    this.#sql = sql
    this.#watched = watched
    this.#retention = retention
  }

  async of(workspaceId: string) {
    const { accounts, zone } = await this.#watched.load(workspaceId)
    const [rows, retention] = await Promise.all([
      this.#sql.rows<{ account_id: string; figure: FigureName; first: number | null }>(REPORTED, [
        accounts.map(({ account }) => account.id),
        FIGURES,
      ]),
      this.#retention.of(workspaceId),
    ])
    const reported = new Map(rows.map(({ account_id: id, figure, first }) => [`${id} ${figure}`, first]))
    return {
      timezone: zone,
      retention,
      figures: FIGURES.map((figure) => ({
        figure,
        of: isAccountFigure(figure) ? ('account' as const) : ('content' as const),
        title: ABOUT[figure][0],
        unit: figure === 'watchSeconds' ? ('seconds' as const) : ('count' as const),
        description: ABOUT[figure][1],
        example: `${PATH}/platforms/series?figure=${figure}`,
      })),
      derived: DERIVED.map(([name, title, formula, source, example]) => ({ name, title, formula, source, example })),
      dimensions: DIMENSIONS.map(([name, description, example]) => ({ name, description, example })),
      accounts: accounts.map((watched) => accountView(watched, reported, zone)),
    }
  }
}

function accountView(watched: WatchedAccount, reported: ReadonlyMap<string, number | null>, zone: string) {
  const { account, analytics, gaps, title, watch } = watched
  const open = gaps.find(({ endedAt }) => endedAt === null)
  const imports = analytics?.listContent !== undefined
  const message = analytics?.missing?.listing ?? `${title} does not list posts.`
  return {
    accountId: account.id,
    platform: account.platform,
    accountName: account.name,
    startedAt: watch?.startedAt ?? null,
    collectedAt: watch?.collectedAt ?? null,
    nextCollectionAt: watch?.nextAt ?? null,
    keptSince: watch?.keptSince ?? null,
    importsContent: imports,
    importGap: imports ? null : { code: 'not_reported' as const, message },
    figures: FIGURES.map((figure) => {
      const missing = notReported(watched, figure)
      const since = sinceOf(reported.get(`${account.id} ${figure}`), watch?.startedAt ?? null, zone)
      const waiting = { code: 'not_started' as const, message: 'The platform has not reported it yet.' }
      return {
        figure,
        available: missing === undefined,
        since,
        gap: missing ?? (since === null ? waiting : null),
      }
    }),
    gap: open === undefined ? null : { code: open.code, message: open.message, startedAt: open.startedAt },
  }
}

/**
 * When a figure was first reported. On the day of the first reply it is that reply, because reports are not read for this.
 * @param first the first day with a report. Null if no day is rolled up yet, undefined without a report
 */
function sinceOf(first: number | null | undefined, startedAt: string | null, zone: string): string | null {
  if (first === undefined) return null
  const isFirstDay = first === null || (startedAt !== null && dayOf(Date.parse(startedAt), zone) === first)
  return isFirstDay ? startedAt : new Date(boundsOf(first, zone).start).toISOString()
}

// Written by hand (`npm run bench:analytics`): its form decides which index PostgreSQL reads.
// One probe of an index for each account and figure, however many posts an account has. The order makes PostgreSQL read the
// index, also if it estimates that a scan of all series soon finds one: a figure that no post has would take a whole scan.
const REPORTED = `
  select a.id as account_id, f.name as figure, coalesce(
    (select min(day) from analytics_account_days where account_id = a.id and figure = f.name),
    (select min(day) from analytics_days d join analytics_series s on s.id = d.series_id
      where s.subject_id = a.id and s.figure = f.name)) as first
  from unnest($1::uuid[]) as a(id) cross join unnest($2::text[]) as f(name)
  cross join lateral (
    select figure from analytics_series where account_id = a.id and figure >= f.name order by figure limit 1
  ) s
  where s.figure = f.name`
