import type { ContentRecordData } from '../content-schemas.ts'
import { CONTENT_FIGURES, type FigureName } from '../figures.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import type { PlatformStatsData, PointData } from '../schemas.ts'
import { audienceGaps, audienceTables } from './audience.ts'
import type { ReportWords } from './language.ts'
import type { ReportBrand, ReportChart, ReportModel, ReportPost, ReportTable } from './model.ts'
import type { ReportPart } from './sections.ts'
import { gapLines, sentencesOf } from './words.ts'

/** Lines in one chart. More cannot be told apart; the tables have all accounts. */
const MAX_LINES = 8
const METHOD = ['reports', 'gains', 'engagements', 'rate', 'audience', 'comparison', 'gaps'] as const
const NONE = '–'

interface SeriesOfAccount {
  readonly accountId: string
  readonly accountName: string
  readonly platform: string
  readonly points: readonly PointData[]
}

type FollowersOfAccount = SeriesOfAccount & { readonly value: number | null }

/** What a report is made of, before it is in a language. */
export interface ReportContent {
  readonly workspace: string
  /** ISO 8601. */
  readonly createdAt: string
  /** Of the points. */
  readonly interval: 'day' | 'week'
  readonly figures: PlatformStatsData
  readonly followers: readonly FollowersOfAccount[]
  readonly engagements: readonly { readonly figure: FigureName; readonly accounts: readonly SeriesOfAccount[] }[]
  readonly audience: Awaited<ReturnType<AccountAudiences['of']>>
  /** The best first. Pictures are WebP in Base64. */
  readonly posts: readonly (ContentRecordData & { readonly picture: string | null })[]
  /** Of other domains, in the same language. */
  readonly parts: readonly ReportPart[]
  readonly brand: ReportBrand
}

/** The report in a language. */
export function modelOf(content: ReportContent, words: ReportWords): ReportModel {
  const { audience, brand, createdAt, engagements, figures, followers, interval, parts, posts, workspace } = content
  const { from, to } = figures.span
  const { previousSpan } = figures
  return {
    language: words.language,
    title: words.say('title'),
    workspace,
    from,
    to,
    span: words.span(from, to),
    previousSpan: previousSpan === null ? '' : words.span(previousSpan.from, previousSpan.to),
    timezone: figures.timezone,
    createdAt,
    sentences: [...sentencesOf(figures, posts[0], words), ...parts.flatMap((part) => part.sentences)],
    charts: [
      ...followersChart(followers, interval, words),
      ...engagementsChart(engagements, interval, words),
      ...parts.flatMap((part) => part.charts),
    ],
    tables: [
      accountsTable(figures, words),
      totalsTable(figures, words),
      ...audienceTables(audience, words),
      ...parts.flatMap((part) => part.tables),
    ],
    posts: posts.map((post) => postView(post, words)),
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

function followersChart(
  accounts: readonly FollowersOfAccount[],
  interval: string,
  { day, say }: ReportWords,
): ReportChart[] {
  const shown = accounts
    .filter(({ points }) => points.some(({ value }) => value !== null))
    .toSorted((one, other) => (other.value ?? 0) - (one.value ?? 0))
    .slice(0, MAX_LINES)
  if (shown.length === 0) return []
  const names = shown.map(nameOf)
  return [
    {
      title: say('figure.followers'),
      kind: 'line',
      alt: say('followersChart', { interval, names: names.join(', ') }),
      labels: (accounts[0]?.points ?? []).map(({ from }) => day(from)),
      series: shown.map((account, index) => ({
        name: names[index] ?? '',
        values: account.points.map(({ value }) => value),
      })),
    },
  ]
}

function engagementsChart(
  all: ReportContent['engagements'],
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

function postView(post: ReportContent['posts'][number], { day, number, say }: ReportWords): ReportPost {
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
    picture: post.picture,
  }
}

function nameOf({ accountName, platform }: { readonly accountName: string; readonly platform: string }): string {
  return `${accountName} (${platform})`
}
