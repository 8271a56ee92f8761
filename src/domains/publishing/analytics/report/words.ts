import type { ContentRecordData } from '../content-schemas.ts'
import { ENGAGEMENTS } from '../figures.ts'
import type { PlatformStatsData, PointData } from '../schemas.ts'
import type { ReportWords } from './language.ts'

/** The summary: sentences made of numbers that the tables have as well. */
export function sentencesOf(
  { accounts, totals }: PlatformStatsData,
  best: ContentRecordData | undefined,
  words: ReportWords,
): string[] {
  if (accounts.length === 0) return [words.say('noAccounts')]
  const posts = accounts.reduce((sum, { publishedCount }) => sum + publishedCount, 0)
  return [
    followers({ accounts, totals }, words),
    words.say('published', { posts }),
    engagements({ accounts, totals }, words),
    ...bestPost(best, words),
  ]
}

type Figures = Pick<PlatformStatsData, 'accounts' | 'totals'>

function followers({ accounts, totals }: Figures, { percent, say }: ReportWords): string {
  const total = totals.find(({ figure }) => figure === 'followers')
  if (total?.value == null) return say('noFollowers')
  const changes = accounts.flatMap(({ figures }) => figures.find(({ figure }) => figure === 'followers')?.change ?? [])
  const by = changes.reduce((sum, one) => sum + one, 0)
  const before = total.value - by
  return say('followers', {
    followers: total.value,
    accounts: total.accountCount,
    change: changes.length === 0 ? 'unknown' : by === 0 ? 'same' : by > 0 ? 'more' : 'fewer',
    by: Math.abs(by),
    rate: before > 0 ? ` (${percent(Math.abs(by / before))})` : '',
  })
}

function engagements({ accounts, totals }: Figures, { percent, say }: ReportWords): string {
  const known = accounts.flatMap((account) => account.engagements ?? [])
  if (known.length === 0) return say('noEngagements')
  const now = known.reduce((sum, one) => sum + one, 0)
  const names: readonly string[] = ENGAGEMENTS
  const earlier = totals.flatMap(({ figure, previousValue }) => (names.includes(figure) ? (previousValue ?? []) : []))
  const before = earlier.reduce((sum, one) => sum + one, 0)
  const isKnown = earlier.length > 0 && before > 0
  return say('engagements', {
    engagements: now,
    change: !isKnown ? 'unknown' : now === before ? 'same' : now > before ? 'more' : 'fewer',
    rate: isKnown ? percent(Math.abs((now - before) / before)) : '',
  })
}

function bestPost(best: ContentRecordData | undefined, { say }: ReportWords): string[] {
  if (best?.engagements == null || best.engagements <= 0) return []
  const text = Array.from(best.text).slice(0, 60).join('').trim()
  const { accountName: account, engagements: gained } = best
  return [say('bestPost', { hasText: text === '' ? 'no' : 'yes', text, account, engagements: gained })]
}

/** What is missing, by account, with its reason. */
export function gapLines(
  { accounts }: PlatformStatsData,
  followersOf: readonly { readonly accountId: string; readonly points: readonly PointData[] }[],
  interval: 'day' | 'week',
  { day, say, within }: ReportWords,
): string[] {
  const byId = new Map(followersOf.map(({ accountId, points }) => [accountId, points]))
  return accounts.flatMap(({ accountId, accountName, figures, platform }) => {
    const account = `${accountName} (${platform})`
    const missing = figures.filter(({ gap }) => gap?.code === 'not_reported').map(({ figure }) => figure)
    const names = missing.map((figure) => within(say(`figure.${figure}`))).join(', ')
    const points = byId.get(accountId) ?? []
    const gaps = points.flatMap(({ from, gap, to }) =>
      gap === null || gap.code === 'not_reported' || gap.code === 'future' ? [] : [{ from, to, code: gap.code }],
    )
    return [
      ...(missing.length === 0 ? [] : [say('gap.figures', { account, figures: names })]),
      ...[...Map.groupBy(gaps, ({ code }) => code)].map(([code, all]) =>
        say('gap.followers', {
          account,
          missing: all.length,
          points: points.length,
          interval,
          from: day(all[0]?.from ?? ''),
          to: day(all.at(-1)?.to ?? ''),
          reason: say(`gap.reason.${code}`),
        }),
      ),
    ]
  })
}
