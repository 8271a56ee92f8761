import type { Clock } from '../../../../core/clock.ts'
import { findPostView } from '../../posts/index.ts'
import type { ReportBranding } from '../branding/branding.ts'
import { findNames } from '../../../workspace/workspaces/index.ts'
import type { Scope } from '../../../../core/scope.ts'
import type { Sql } from '../../../../core/sql.ts'
import { RawBody, reply } from '../../../../core/reply.ts'
import type { ContentRecordData } from '../content-schemas.ts'
import { CONTENT_FIGURES, type FigureName } from '../figures.ts'
import type { ContentRecords } from '../reads/content.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import { titleOf } from '../reads/report-data.ts'
import type { AnalyticsTimeSeries } from '../reads/series.ts'
import { bucketsOf, spanOf, timesOf, type Interval, type Span } from '../reads/span.ts'
import type { PlatformStatistics } from '../reads/stats.ts'
import type { WatchedAccounts } from '../reads/watched.ts'
import type { PlatformStatsData, PointData, ReportFilter } from '../schemas.ts'
import type { Foundation } from '../../../../foundation.ts'
import { importedPictures } from './pictures.ts'
import { audienceGaps, audienceTables } from './audience.ts'
import type { ReportChart, ReportModel, ReportPost, ReportTable } from './model.ts'
import type { ReportPrinter } from './printer.ts'
import { boundsOf, dayText } from '../storage/zone-days.ts'
import { ReportSections } from './sections.ts'
import { gapLines, sentencesOf } from './words.ts'

/** Lines in one chart. More cannot be told apart; the tables have all accounts. */
const MOST_LINES = 8
const MOST_POSTS = 10
/** Points of a chart. Longer spans are shown by week. */
const MOST_DAILY = 62
const METHOD = [
  [
    'Reports',
    'Figures are those that the platforms reported. Platforms count differently, so compare each with itself.',
  ],
  [
    'Gains',
    'What posts gained is the difference between two reports, counted on the day of the second one. It can be negative when a platform corrects its figures. What a post had before it was first read is not counted.',
  ],
  ['Engagements', 'Likes, comments, shares and saves that the platform reports.'],
  ['Engagement rate', 'Engagements divided by the followers that were last reported, or by reach.'],
  [
    'Audience',
    'What the platform last reported of followers. It does not know everyone, so groups are shares of those.',
  ],
  ['Comparison', 'With as many days directly before.'],
  ['Gaps', 'A time without a report is a gap in lines and tables. It is never shown as zero.'],
] as const

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly stats: PlatformStatistics
  readonly series: AnalyticsTimeSeries
  readonly content: ContentRecords
  readonly audiences: AccountAudiences
  readonly watched: WatchedAccounts
  readonly branding: ReportBranding
  readonly printer: ReportPrinter
  readonly storage: Foundation['storage']
}

/** Reports for people who do not use Crier: the same content as a page and as a PDF. */
export class Reports {
  /** What other domains add. */
  readonly sections = new ReportSections()
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @throws AppError validation_failed, not_found */
  async html(filter: ReportFilter, scopes: ReadonlySet<Scope>) {
    const model = await this.model(filter, scopes)
    const body = new RawBody('text/html; charset=utf-8', await this.#needs.printer.html(model))
    return reply(200, body, headersOf(model, 'html'))
  }

  /** @throws AppError validation_failed, not_found */
  async pdf(filter: ReportFilter, scopes: ReadonlySet<Scope>) {
    const model = await this.model(filter, scopes)
    return reply(200, new RawBody('application/pdf', await this.#needs.printer.pdf(model)), headersOf(model, 'pdf'))
  }

  /** The days that a report would be about. @throws AppError validation_failed, not_found */
  async daysOf({ accountIds, from, to, workspaceId }: ReportFilter): Promise<{ from: string; to: string }> {
    const { zone } = await this.#needs.watched.load(workspaceId, accountIds)
    const asked = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
    const { first, last } = spanOf(asked, zone, this.#needs.clock.now())
    return { from: dayText(first), to: dayText(last) }
  }

  /** The file of a report. @throws AppError not_found */
  print(model: ReportModel, format: 'pdf' | 'html'): Promise<Buffer | string> {
    return format === 'pdf' ? this.#needs.printer.pdf(model) : this.#needs.printer.html(model)
  }

  /** What a report says to a reader with these scopes. */
  async model({ accountIds, from, to, workspaceId }: ReportFilter, scopes: ReadonlySet<Scope>): Promise<ReportModel> {
    const { audiences, branding, clock, content, series, sql, stats } = this.#needs
    const asked = {
      workspaceId,
      ...(accountIds && { accountIds }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    }
    const figures = await stats.of({ ...asked, compare: true })
    const interval = figures.span.dayCount > MOST_DAILY ? 'week' : 'day'
    const span = { from: figures.span.from, to: figures.span.to }
    const days = spanOf(span, figures.timezone, clock.now())
    const [followers, engagements, posts, names, audience, parts] = await Promise.all([
      series.followers({ ...asked, ...span, interval }),
      Promise.all(
        (['likes', 'comments', 'shares', 'saves'] as const).map(async (figure) => ({
          figure,
          accounts: (await series.ofAccounts({ ...asked, ...span, figure, interval })).accounts,
        })),
      ),
      content.list({ ...asked, ...span, sort: 'engagements', limit: MOST_POSTS }),
      findNames(sql, [workspaceId]),
      audiences.of({ workspaceId, ...(accountIds && { accountIds }) }),
      this.sections.make(
        { workspaceId, zone: figures.timezone, ...timesOf(days), buckets: labelled(days, interval) },
        scopes,
      ),
    ])
    const top = posts.items.filter((post) => post.engagements !== null)
    const [brand, pictures] = await Promise.all([branding.brandOf(workspaceId), this.#pictures(workspaceId, top)])
    return {
      title: 'Social media report',
      workspace: names.get(workspaceId) ?? '',
      span: spanText(figures.span),
      previousSpan: figures.previousSpan === null ? '' : spanText(figures.previousSpan),
      timezone: figures.timezone,
      createdAt: new Date(clock.now()).toISOString(),
      sentences: [...sentencesOf(figures, top[0]), ...parts.flatMap((part) => part.sentences)],
      charts: [
        followersChart(followers, interval),
        ...engagementsChart(engagements, interval),
        ...parts.flatMap((part) => part.charts),
      ],
      tables: [
        accountsTable(figures),
        totalsTable(figures),
        ...audienceTables(audience),
        ...parts.flatMap((part) => part.tables),
      ],
      posts: top.map((post) => postView(post, pictures.get(post._id) ?? null)),
      gaps: [...gapLines(figures, followers), ...audienceGaps(audience), ...parts.flatMap((part) => part.gaps)],
      method: [...METHOD, ...parts.flatMap((part) => part.method)],
      brand,
    }
  }

  /** Small pictures of posts by record: those of files that Crier has published, and those of imported posts. */
  async #pictures(workspaceId: string, records: readonly ContentRecordData[]): Promise<ReadonlyMap<string, string>> {
    const assets = new Map<string, string>()
    for (const { _id, postId } of records) {
      const post = postId === null ? undefined : await findPostView(this.#needs.sql, postId)
      const assetId = post?.media[0]?.assetId
      if (assetId !== undefined) assets.set(_id, assetId)
    }
    const found = await this.#needs.branding.thumbnails(workspaceId, [...assets.values()])
    const pictures = new Map(
      [...assets].flatMap(([id, assetId]) => {
        const picture = found.get(assetId)
        return picture === undefined ? [] : [[id, picture] as const]
      }),
    )
    const others = records.map(({ _id }) => _id).filter((id) => !pictures.has(id))
    for (const [id, picture] of await importedPictures(this.#needs, workspaceId, others)) pictures.set(id, picture)
    return pictures
  }
}

function labelled(span: Span, interval: Interval) {
  return bucketsOf(span, interval).map(({ first, last }) => ({
    label: dayText(first),
    start: boundsOf(first, span.zone).start,
    end: boundsOf(last, span.zone).end,
  }))
}

function headersOf({ span }: ReportModel, extension: string) {
  const name = `report ${span.replaceAll(' to ', ' ')}.${extension}`.replaceAll(' ', '-')
  return {
    'Content-Disposition': `attachment; filename="${name}"`,
    'Cache-Control': 'private',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  }
}

function spanText({ from, to }: { readonly from: string; readonly to: string }): string {
  return `${from} to ${to}`
}

interface SeriesOfAccount {
  readonly accountId: string
  readonly accountName: string
  readonly platform: string
  readonly points: readonly PointData[]
}

function followersChart(
  { accounts }: { readonly accounts: readonly (SeriesOfAccount & { readonly value: number | null })[] },
  interval: string,
): ReportChart {
  const shown = accounts
    .filter(({ points }) => points.some(({ value }) => value !== null))
    .toSorted((one, other) => (other.value ?? 0) - (one.value ?? 0))
    .slice(0, MOST_LINES)
  const names = shown.map(nameOf)
  return {
    title: 'Followers',
    kind: 'line',
    alt: `Lines of the followers by ${interval}: ${names.length === 0 ? 'no account has a report' : names.join(', ')}. The table has the numbers.`,
    labels: (accounts[0]?.points ?? []).map(({ from }) => from),
    series: shown.map((account, index) => ({
      name: names[index] ?? '',
      values: account.points.map(({ value }) => value),
    })),
  }
}

function engagementsChart(
  all: readonly { readonly figure: FigureName; readonly accounts: readonly SeriesOfAccount[] }[],
  interval: string,
): ReportChart[] {
  const labels = (all[0]?.accounts[0]?.points ?? []).map(({ from }) => from)
  const series = all.flatMap(({ accounts, figure }) => {
    const values = labels.map((_, index) => {
      const gains = accounts.flatMap(({ points }) => points[index]?.gained ?? [])
      return gains.length === 0 ? null : gains.reduce((sum, one) => sum + one, 0)
    })
    return values.every((value) => value === null) ? [] : [{ name: titleOf(figure), values }]
  })
  if (series.length === 0) return []
  const names = series.map(({ name }) => name.toLowerCase()).join(', ')
  return [
    {
      title: 'Engagements of posts',
      kind: 'bar',
      alt: `Bars of what all posts gained by ${interval}: ${names}. The table has the numbers.`,
      labels,
      series,
    },
  ]
}

const number = (value: number | null) => (value === null ? 'no report' : value.toLocaleString('en'))
const percent = (value: number | null) =>
  value === null ? '–' : `${value > 0 ? '+' : ''}${(value * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`

function accountsTable({ accounts }: PlatformStatsData): ReportTable {
  return {
    title: 'Accounts',
    columns: ['Account', 'Followers', 'Change', 'Published', 'Engagements', 'Rate'],
    rows: accounts.map((account) => {
      const followers = account.figures.find(({ figure }) => figure === 'followers')
      const rate = account.rates.find((one) => one.rate === 'engagementRateByFollowers')?.value ?? null
      return [
        nameOf(account),
        number(followers?.value ?? null),
        followers?.change == null ? '–' : `${followers.change > 0 ? '+' : ''}${number(followers.change)}`,
        number(account.publishedCount),
        number(account.engagements),
        rate === null ? '–' : percent(rate).replace('+', ''),
      ]
    }),
  }
}

function totalsTable({ accounts, totals }: PlatformStatsData): ReportTable {
  const shown = totals.filter(({ previousValue, value }) => value !== null || previousValue !== null)
  return {
    title: 'All accounts together',
    columns: ['Figure', 'This time', 'Before', 'Change', 'Reported by'],
    rows: shown.map(({ accountCount, figure, previousValue, value }) => {
      const change =
        value === null || previousValue === null || previousValue === 0 ? null : (value - previousValue) / previousValue
      const reported = `${number(accountCount)} of ${number(accounts.length)}`
      return [titleOf(figure), number(value), number(previousValue), percent(change), reported]
    }),
  }
}

function postView(post: ContentRecordData, picture: string | null): ReportPost {
  const known = CONTENT_FIGURES.flatMap((figure) => {
    const value = post.figures.find((one) => one.figure === figure)?.value
    return value == null ? [] : [`${titleOf(figure)}: ${number(value)}`]
  })
  return {
    text: Array.from(post.text).slice(0, 140).join(''),
    where: nameOf(post),
    published: post.publishedAt.slice(0, 10),
    url: post.url,
    figures: known.join(', '),
    picture,
  }
}

function nameOf({ accountName, platform }: { readonly accountName: string; readonly platform: string }): string {
  return `${accountName} (${platform})`
}
