import type { Clock } from '../../../../core/clock.ts'
import { findPostView } from '../../posts/index.ts'
import type { ReportBranding } from '../branding/branding.ts'
import { acceptedLanguage } from '../../../../language/accepted.ts'
import { findReaders } from '../../../identity/users/index.ts'
import { findNames } from '../../../workspace/workspaces/index.ts'
import type { Member } from '../../../../core/caller.ts'
import type { Scope } from '../../../../core/scope.ts'
import type { Sql } from '../../../../core/sql.ts'
import { RawBody, reply } from '../../../../core/reply.ts'
import type { ContentRecordData } from '../content-schemas.ts'
import { CONTENT_FIGURES, type FigureName } from '../figures.ts'
import type { ContentRecords } from '../reads/content.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import type { AnalyticsTimeSeries } from '../reads/series.ts'
import { bucketsOf, spanOf, timesOf, type Interval, type Span } from '../reads/span.ts'
import type { PlatformStatistics } from '../reads/stats.ts'
import type { WatchedAccounts } from '../reads/watched.ts'
import type { PlatformStatsData, PointData, ReportFilter, ReportRequest } from '../schemas.ts'
import type { Foundation } from '../../../../foundation.ts'
import { importedPictures } from './pictures.ts'
import { audienceGaps, audienceTables } from './audience.ts'
import { reportLanguage, reportWords, type ReportLanguageName, type ReportWords } from './language.ts'
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
const METHOD = ['reports', 'gains', 'engagements', 'rate', 'audience', 'comparison', 'gaps'] as const

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

  /**
   * @param accepted the Accept-Language header
   * @throws AppError validation_failed, not_found
   */
  async html(filter: ReportRequest, member: Member, accepted: string | undefined) {
    const model = await this.model(filter, member.scopes, await this.#languageOf(filter, member, accepted))
    const body = new RawBody('text/html; charset=utf-8', await this.#needs.printer.html(model))
    return reply(200, body, headersOf(model, 'html'))
  }

  /**
   * @param accepted the Accept-Language header
   * @throws AppError validation_failed, not_found
   */
  async pdf(filter: ReportRequest, member: Member, accepted: string | undefined) {
    const model = await this.model(filter, member.scopes, await this.#languageOf(filter, member, accepted))
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
  async model(
    { accountIds, from, to, workspaceId }: ReportFilter,
    scopes: ReadonlySet<Scope>,
    language: ReportLanguageName,
  ): Promise<ReportModel> {
    const words = reportWords(language)
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
        { workspaceId, zone: figures.timezone, words, ...timesOf(days), buckets: labelled(days, interval, words) },
        scopes,
      ),
    ])
    const top = posts.items.filter((post) => post.engagements !== null)
    const [brand, pictures] = await Promise.all([branding.brandOf(workspaceId), this.#pictures(workspaceId, top)])
    return {
      language,
      title: words.say('title'),
      workspace: names.get(workspaceId) ?? '',
      ...span,
      span: words.span(span.from, span.to),
      previousSpan: figures.previousSpan === null ? '' : words.span(figures.previousSpan.from, figures.previousSpan.to),
      timezone: figures.timezone,
      createdAt: new Date(clock.now()).toISOString(),
      sentences: [...sentencesOf(figures, top[0], words), ...parts.flatMap((part) => part.sentences)],
      charts: [
        followersChart(followers, interval, words),
        ...engagementsChart(engagements, interval, words),
        ...parts.flatMap((part) => part.charts),
      ],
      tables: [
        accountsTable(figures, words),
        totalsTable(figures, words),
        ...audienceTables(audience, words),
        ...parts.flatMap((part) => part.tables),
      ],
      posts: top.map((post) => postView(post, pictures.get(post._id) ?? null, words)),
      gaps: [
        ...gapLines(figures, followers, interval, words),
        ...audienceGaps(audience, words),
        ...parts.flatMap((part) => part.gaps),
      ],
      method: [
        ...METHOD.map((name) => [words.say(`method.${name}`), words.say(`method.${name}.text`)] as const),
        ...parts.flatMap((part) => part.method),
      ],
      brand,
    }
  }

  async #languageOf(
    { language }: ReportRequest,
    { userId }: Member,
    accepted: string | undefined,
  ): Promise<ReportLanguageName> {
    if (language !== undefined) return language
    const [reader] = await findReaders(this.#needs.sql, [userId])
    return reportLanguage(acceptedLanguage(accepted, reader?.language ?? 'en'))
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

function labelled(span: Span, interval: Interval, { day }: ReportWords) {
  return bucketsOf(span, interval).map(({ first, last }) => ({
    label: day(dayText(first)),
    start: boundsOf(first, span.zone).start,
    end: boundsOf(last, span.zone).end,
  }))
}

function headersOf({ from, language, to }: ReportModel, extension: string) {
  return {
    'Content-Disposition': `attachment; filename="report-${from}-${to}.${extension}"`,
    'Cache-Control': 'private',
    'Content-Language': language,
    Vary: 'Accept-Language',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  }
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
  { day, say }: ReportWords,
): ReportChart {
  const shown = accounts
    .filter(({ points }) => points.some(({ value }) => value !== null))
    .toSorted((one, other) => (other.value ?? 0) - (one.value ?? 0))
    .slice(0, MOST_LINES)
  const names = shown.map(nameOf)
  return {
    title: say('figure.followers'),
    kind: 'line',
    alt: say('followersChart', { interval, names: names.length === 0 ? say('noNames') : names.join(', ') }),
    labels: (accounts[0]?.points ?? []).map(({ from }) => day(from)),
    series: shown.map((account, index) => ({
      name: names[index] ?? '',
      values: account.points.map(({ value }) => value),
    })),
  }
}

function engagementsChart(
  all: readonly { readonly figure: FigureName; readonly accounts: readonly SeriesOfAccount[] }[],
  interval: string,
  { day, say, within }: ReportWords,
): ReportChart[] {
  const labels = (all[0]?.accounts[0]?.points ?? []).map(({ from }) => day(from))
  const series = all.flatMap(({ accounts, figure }) => {
    const values = labels.map((_, index) => {
      const gains = accounts.flatMap(({ points }) => points[index]?.gained ?? [])
      return gains.length === 0 ? null : gains.reduce((sum, one) => sum + one, 0)
    })
    return values.every((value) => value === null) ? [] : [{ name: say(`figure.${figure}`), values }]
  })
  if (series.length === 0) return []
  const names = series.map(({ name }) => within(name)).join(', ')
  const alt = say('engagementsChart', { interval, names })
  return [{ title: say('engagementsOfPosts'), kind: 'bar', alt, labels, series }]
}

const NONE = '–'

function accountsTable({ accounts }: PlatformStatsData, words: ReportWords): ReportTable {
  const { difference, number, percent, say } = words
  const columns = ['account', 'figure.followers', 'change', 'publishedPosts', 'engagementsColumn', 'rate'] as const
  return {
    title: say('accounts'),
    columns: columns.map((column) => say(column)),
    rows: accounts.map((account) => {
      const followers = account.figures.find(({ figure }) => figure === 'followers')
      const rate = account.rates.find((one) => one.rate === 'engagementRateByFollowers')?.value ?? null
      return [
        nameOf(account),
        reported(followers?.value ?? null, words),
        followers?.change == null ? NONE : difference(followers.change),
        number(account.publishedCount),
        reported(account.engagements, words),
        rate === null ? NONE : percent(rate),
      ]
    }),
  }
}

function totalsTable({ accounts, totals }: PlatformStatsData, words: ReportWords): ReportTable {
  const { change, say } = words
  const shown = totals.filter(({ previousValue, value }) => value !== null || previousValue !== null)
  const columns = ['figure', 'thisTime', 'before', 'change', 'reportedBy'] as const
  return {
    title: say('together'),
    columns: columns.map((column) => say(column)),
    rows: shown.map(({ accountCount, figure, previousValue, value }) => [
      say(`figure.${figure}`),
      reported(value, words),
      reported(previousValue, words),
      value === null || previousValue === null || previousValue === 0
        ? NONE
        : change((value - previousValue) / previousValue),
      say('reportedBy.accounts', { count: accountCount, total: accounts.length }),
    ]),
  }
}

function reported(value: number | null, { number, say }: ReportWords): string {
  return value === null ? say('noReport') : number(value)
}

function postView(post: ContentRecordData, picture: string | null, { day, number, say }: ReportWords): ReportPost {
  const known = CONTENT_FIGURES.flatMap((figure) => {
    const value = post.figures.find((one) => one.figure === figure)?.value
    return value == null ? [] : [`${say(`figure.${figure}`)}: ${number(value)}`]
  })
  return {
    text: Array.from(post.text).slice(0, 140).join(''),
    where: nameOf(post),
    published: day(post.publishedAt.slice(0, 10)),
    url: post.url,
    figures: known.join(', '),
    picture,
  }
}

function nameOf({ accountName, platform }: { readonly accountName: string; readonly platform: string }): string {
  return `${accountName} (${platform})`
}
