import type { Sql } from '../../../../core/sql.ts'
import { FIGURES, isAccountFigure, type FigureName } from '../figures.ts'
import type { SampleRetention } from '../storage/retention.ts'
import { notReported, type WatchedAccount, type WatchedAccounts } from './watched.ts'

const ABOUT: Readonly<Record<FigureName, readonly [title: string, description: string]>> = {
  followers: ['Followers', 'Accounts that follow, or subscribers'],
  following: ['Following', 'Accounts that are followed'],
  contentCount: ['Posts', 'Posts that the platform counts, also those from before the account was connected'],
  views: ['Views', 'How often posts were shown or played, as the platform counts it'],
  reach: ['Reach', 'How many accounts saw posts. The platform counts each account once per post'],
  likes: ['Likes', 'Likes and other reactions'],
  comments: ['Comments', 'Comments and replies'],
  shares: ['Shares', 'Shares, reposts and quotes'],
  saves: ['Saves', 'Bookmarks and saves'],
  clicks: ['Clicks', 'Clicks on links of posts'],
  watchSeconds: ['Watch time', 'How long videos were watched'],
}

/** The title of a figure, for people. */
export function titleOf(figure: FigureName): string {
  return ABOUT[figure][0]
}

const DERIVED = [
  ['engagements', 'Engagements', 'likes + comments + shares + saves', 'getPlatformStats'],
  ['engagementRateByFollowers', 'Engagement rate by followers', 'engagements / followers', 'getPlatformStats'],
  ['engagementRateByReach', 'Engagement rate by reach', 'engagements / reach', 'getPlatformStats'],
  ['changeRate', 'Growth', 'change / (value − change)', 'getFollowerTrend'],
  ['comparison', 'Compared with the span before', '(value − previousValue) / previousValue', 'getPlatformStats'],
  ['halfLifeHours', 'Half-life', 'hours from publication to half of the newest value', 'getContentTimeSeries'],
] as const

const DIMENSIONS = [
  ['day', 'Days in the zone of the workspace'],
  ['week', 'Weeks from Monday'],
  ['month', 'Calendar months'],
  ['account', 'Accounts'],
  ['platform', 'Platforms'],
  ['content', 'Posts'],
  ['origin', 'Whether Crier published a post, or another program'],
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
      this.#sql.rows<{ account_id: string; figure: FigureName }>(REPORTED, [
        accounts.map(({ account }) => account.id),
        FIGURES,
      ]),
      this.#retention.of(workspaceId),
    ])
    const reported = new Set(rows.map(({ account_id: id, figure }) => `${id} ${figure}`))
    return {
      timezone: zone,
      retention,
      figures: FIGURES.map((figure) => ({
        figure,
        of: isAccountFigure(figure) ? ('account' as const) : ('content' as const),
        title: ABOUT[figure][0],
        unit: figure === 'watchSeconds' ? ('seconds' as const) : ('count' as const),
        description: ABOUT[figure][1],
      })),
      derived: DERIVED.map(([name, title, formula, source]) => ({ name, title, formula, source })),
      dimensions: DIMENSIONS.map(([name, description]) => ({ name, description })),
      accounts: accounts.map((watched) => accountView(watched, reported)),
    }
  }
}

function accountView(watched: WatchedAccount, reported: ReadonlySet<string>) {
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
      const since = reported.has(`${account.id} ${figure}`) ? (watch?.startedAt ?? null) : null
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

// One probe of an index for each account and figure, however many posts an account has. The order makes PostgreSQL read the
// index, also if it estimates that a scan of all series soon finds one: a figure that no post has would take a whole scan.
const REPORTED = `
  select a.id as account_id, f.name as figure
  from unnest($1::uuid[]) as a(id) cross join unnest($2::text[]) as f(name)
  cross join lateral (
    select figure from analytics_series where account_id = a.id and figure >= f.name order by figure limit 1
  ) s
  where s.figure = f.name`
