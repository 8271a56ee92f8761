import { livePart, type ShownSession } from '../../src/domains/live/session-figures/report.ts'
import { GAP_CODES, type GapCode, FIGURES, ENGAGEMENTS } from '../../src/domains/publishing/analytics/figures.ts'
import { modelOf, type ReportContent } from '../../src/domains/publishing/analytics/report/content.ts'
import { reportWords, type ReportLanguageName } from '../../src/domains/publishing/analytics/report/language.ts'
import type { ReportModel } from '../../src/domains/publishing/analytics/report/model.ts'

const DAYS = 30
const dates = Array.from({ length: DAYS }, (_, day) => dateOf(day))
const START = Date.parse('2026-10-24T10:00:00.000Z')
const ZONE = 'Europe/Berlin'
const PLATFORMS = ['mastodon', 'instagram', 'x', 'bluesky']
const SPAN = { from: dateOf(0), to: dateOf(DAYS - 1), startsAt: '', endsAt: '', dayCount: DAYS }
/** A WebP of one pixel. */
const PIXEL = 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'
const MINUTE = 60_000

/** What a report is about: whose texts are in neither language. */
export interface SampleOptions {
  readonly accounts: number
  /** Days or weeks. */
  readonly interval?: 'day' | 'week'
  /** Whether there are figures at all. */
  readonly isEmpty?: boolean
}

/** A report with each kind of sentence, table, chart and gap, as far as that many accounts have it. */
export function reportSample(language: ReportLanguageName, options: SampleOptions): ReportModel {
  return modelOf(contentOf(language, options), reportWords(language))
}

/** The variants that together use each text. */
export const SAMPLES: readonly SampleOptions[] = [
  { accounts: 0 },
  { accounts: 1 },
  { accounts: 1, isEmpty: true },
  { accounts: 4 },
  { accounts: 12, interval: 'week' },
]

function contentOf(
  language: ReportLanguageName,
  { accounts, interval = 'day', isEmpty }: SampleOptions,
): ReportContent {
  const all = Array.from({ length: accounts }, (_, index) => ({
    accountId: `account-${index}`,
    platform: PLATFORMS[index % PLATFORMS.length] ?? '',
    accountName: index === 0 ? 'Lorem' : `Lorem ipsum dolor sit amet ${index} 🎉`,
  }))
  const points = (of: number) => dates.map((date, day) => pointOf(date, day, of, isEmpty === true))
  const posts = isEmpty === true ? [] : postsOf(all)
  return {
    workspace: 'Ipsum & Dolor 🚂',
    createdAt: '2026-11-23T07:00:00.000Z',
    interval,
    figures: {
      timezone: ZONE,
      span: SPAN,
      previousSpan: { ...SPAN, from: dateOf(-DAYS), to: dateOf(-1) },
      accounts: all.map((account, index) => ({
        ...account,
        collectedAt: null,
        figures: FIGURES.map((figure) => ({
          figure,
          value: isEmpty === true ? null : 1_203 + index,
          change: figure !== 'followers' || isEmpty === true ? null : 203,
          changeRate: null,
          previousValue: 1_000,
          comparison: null,
          gap: index % 2 === 0 ? null : { code: 'not_reported' as const, message: '' },
        })),
        engagements: isEmpty === true ? null : 1_234,
        rates: [
          { rate: 'engagementRateByFollowers' as const, value: index === 0 ? null : 0.0213, previousValue: null },
        ],
        publishedCount: posts.length,
      })),
      totals: isEmpty === true ? [] : FIGURES.map((figure) => totalOf(figure, accounts)),
    },
    followers: all.map((account, index) => ({ ...account, value: 1_203, points: points(index) })),
    engagements: ENGAGEMENTS.map((figure, index) => ({
      figure,
      accounts: all.map((account) => ({ ...account, points: points(index) })),
    })),
    audience: { accounts: all.map((account, index) => ({ ...account, dimensions: dimensionsOf(index) })) },
    posts,
    parts: isEmpty === true || accounts === 0 ? [] : [livePartOf(language, accounts)],
    brand: { accentColor: null, companyName: null, website: 'ipsum.example', footerText: 'Lorem ipsum', logo: PIXEL },
  }
}

/** Each reason for a gap in turn, and values between them. */
function pointOf(
  date: string,
  day: number,
  of: number,
  isEmpty: boolean,
): ReportContent['followers'][number]['points'][number] {
  const codes = Object.keys(GAP_CODES) as GapCode[]
  const code = codes[day % 15]
  if (isEmpty || (code !== undefined && of > 0)) {
    return { from: date, to: date, value: null, gained: null, gap: { code: code ?? 'not_collected', message: '' } }
  }
  return { from: date, to: date, value: 1_000 + of * 700 + day * 7, gained: (day + of) % 5, gap: null }
}

function totalOf(figure: (typeof FIGURES)[number], accountCount: number) {
  return { figure, value: figure === 'reach' ? null : 123_456, previousValue: 100_000, accountCount }
}

function postsOf(
  accounts: readonly { accountId: string; platform: string; accountName: string }[],
): ReportContent['posts'] {
  return accounts.slice(0, 10).map((account, index) => ({
    _id: `content-${index}`,
    createdAt: '',
    updatedAt: '',
    ...account,
    origin: 'crier',
    postId: null,
    targetId: null,
    text: index === 1 ? '' : `🎉 Lorem #ipsum ${'dolor sit amet '.repeat(index)}`,
    url: index % 2 === 0 ? 'https://ipsum.example' : null,
    publishedAt: `${dateOf(index)}T10:00:00.000Z`,
    figures: FIGURES.flatMap((figure) =>
      figure === 'followers' || figure === 'following' || figure === 'contentCount'
        ? []
        : [{ figure, value: 1_200, gap: null }],
    ),
    engagements: 4_800,
    engagementRateByReach: null,
    collectedAt: null,
    nextCollectionAt: null,
    goneReason: null,
    picture: index % 2 === 0 ? PIXEL : null,
  }))
}

/** The first account has groups, and each of the others another reason for having none. */
function dimensionsOf(index: number): ReportContent['audience']['accounts'][number]['dimensions'] {
  const groups = { age: ['18-24', '25-34'], gender: ['F', 'M', 'U'], country: ['DE', 'FR', 'US'], city: ['Kathmandu'] }
  const code = (['not_reported', 'not_started', 'not_collected'] as const)[index % 3] ?? 'not_reported'
  return (['age', 'gender', 'country', 'city'] as const).map((dimension) => ({
    dimension,
    at: null,
    groups: index > 0 ? [] : groups[dimension].map((group) => ({ group, count: 1_234, share: 0.1234 })),
    gap: index > 0 ? { code, message: '' } : null,
  }))
}

function livePartOf(language: ReportLanguageName, count: number) {
  const rows = Array.from({ length: count }, (_, index) => sessionOf(index))
  const buckets = dates.map((date, day) => ({
    label: reportWords(language).day(date),
    start: START + day * 86_400_000,
    end: START + (day + 1) * 86_400_000,
  }))
  const span = { workspaceId: '', zone: ZONE, words: reportWords(language), start: START, end: START, buckets }
  const sessions = rows.map(({ session }) => session)
  // With four, one of them is not shown by itself.
  return livePart(span, sessions, count === 4 ? rows.slice(1) : rows)
}

function sessionOf(index: number): ShownSession {
  const startedAt = new Date(START + index * 90_000_000).toISOString()
  const at = (step: number) => new Date(Date.parse(startedAt) + step * MINUTE).toISOString()
  const isMeasured = (step: number) => step !== 3
  const destination = (name: string, platform: string) => ({
    destinationId: '',
    name,
    platform,
    liveShare: index === 0 ? null : 0.583,
    bitrate: index === 0 ? null : 1_400_000,
    droppedVideo: 1_200,
    droppedAudio: 3,
    reconnects: 1,
    points: Array.from({ length: 8 }, (_, step) => ({
      at: at(step),
      status: null,
      liveShare: null,
      bitrate: isMeasured(step) ? 1_400_000 : null,
      droppedVideo: null,
      droppedAudio: null,
      reconnects: null,
    })),
  })
  const title = `Dolor ${index} 🎥`
  return {
    session: {
      id: `session-${index}`,
      streamId: '',
      title,
      startedAt,
      endedAt: null,
      peakViewers: 4,
      liveMs: (index + 2) * MINUTE,
      destinations: [],
    },
    series: {
      streamId: '',
      sessionId: '',
      startedAt,
      endedAt: null,
      stepSeconds: 60,
      peakViewers: 4,
      publisherSeconds: null,
      bitrate: 1_500_000,
      points: Array.from({ length: 8 }, (_, step) => ({
        at: at(step),
        viewers: isMeasured(step) ? step : null,
        bitrate: isMeasured(step) ? 1_500_000 : null,
        publisherSeconds: null,
        gap: isMeasured(step) ? null : { code: 'not_measured' as const, message: '' },
      })),
      destinations: [destination('Lorem', 'twitch'), destination('', 'custom')],
    },
  }
}

function dateOf(day: number): string {
  return new Date(Date.UTC(2026, 9, 24 + day)).toISOString().slice(0, 10)
}
