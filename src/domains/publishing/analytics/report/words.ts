import type { ContentRecordData } from '../content-schemas.ts'
import type { PlatformStatsData, PointData } from '../schemas.ts'

/** The summary: sentences made of numbers that the tables have as well. */
export function sentencesOf({ accounts, totals }: PlatformStatsData, best: ContentRecordData | undefined): string[] {
  if (accounts.length === 0) return ['The workspace has no accounts.']
  return [...followers({ accounts, totals }), ...posts(accounts), ...engagements(accounts, totals), ...bestPost(best)]
}

const text = (value: number) => value.toLocaleString('en')
const count = (value: number, one: string, many = `${one}s`) => `${text(value)} ${value === 1 ? one : many}`
const percent = (share: number) => `${(Math.abs(share) * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`

function followers({ accounts, totals }: Pick<PlatformStatsData, 'accounts' | 'totals'>): string[] {
  const total = totals.find(({ figure }) => figure === 'followers')
  if (total?.value == null) return ['No platform reported followers in this time.']
  const where = total.accountCount === 1 ? 'one account' : count(total.accountCount, 'account')
  const changes = accounts.flatMap(({ figures }) => figures.find(({ figure }) => figure === 'followers')?.change ?? [])
  const change = changes.reduce((sum, one) => sum + one, 0)
  const now = `${count(total.value, 'follower')} at ${where}`
  if (changes.length === 0) return [`There are ${now}.`]
  if (change === 0) return [`There are ${now}, as many as before.`]
  const before = total.value - change
  const rate = before > 0 ? ` (${percent(change / before)})` : ''
  return [`There are ${now}: ${text(Math.abs(change))} ${change > 0 ? 'more' : 'fewer'}${rate} than before.`]
}

function posts(accounts: PlatformStatsData['accounts']): string[] {
  const published = accounts.reduce((sum, { publishedCount }) => sum + publishedCount, 0)
  return [published === 0 ? 'No post was published.' : `${count(published, 'post was', 'posts were')} published.`]
}

function engagements(accounts: PlatformStatsData['accounts'], totals: PlatformStatsData['totals']): string[] {
  const known = accounts.flatMap((account) => account.engagements ?? [])
  if (known.length === 0) return ['No platform reported engagements of posts in this time.']
  const now = known.reduce((sum, one) => sum + one, 0)
  const names = ['likes', 'comments', 'shares', 'saves']
  const earlier = totals.flatMap(({ figure, previousValue }) => (names.includes(figure) ? (previousValue ?? []) : []))
  const before = earlier.reduce((sum, one) => sum + one, 0)
  const compared =
    earlier.length === 0 || before <= 0
      ? ''
      : now === before
        ? ', as many as in the time before'
        : `, ${percent((now - before) / before)} ${now > before ? 'more' : 'fewer'} than in the time before`
  return [`Posts gained ${count(now, 'engagement')}${compared}.`]
}

function bestPost(best: ContentRecordData | undefined): string[] {
  if (best?.engagements == null || best.engagements <= 0) return []
  const words = Array.from(best.text).slice(0, 60).join('').trim()
  const name = words === '' ? 'A post without text' : `“${words}”`
  return [`${name} of ${best.accountName} has the most engagements: ${text(best.engagements)}.`]
}

/** What is missing, by account, with its reason. */
export function gapLines(
  { accounts }: PlatformStatsData,
  followers: {
    readonly accounts: readonly { readonly accountId: string; readonly points: readonly PointData[] }[]
  },
): string[] {
  const byId = new Map(followers.accounts.map(({ accountId, points }) => [accountId, points]))
  return accounts.flatMap(({ accountId, accountName, figures, platform }) => {
    const name = `${accountName} (${platform})`
    const missing = figures.filter(({ gap }) => gap?.code === 'not_reported').map(({ figure }) => figure)
    const points = byId.get(accountId) ?? []
    const reasons = Map.groupBy(
      points.filter(({ gap }) => gap !== null && gap.code !== 'not_reported' && gap.code !== 'future'),
      ({ gap }) => gap?.message ?? '',
    )
    return [
      ...(missing.length === 0 ? [] : [`${name}: the platform does not report ${missing.join(', ')}.`]),
      ...[...reasons].map(([reason, all]) => {
        const first = all[0]?.from ?? ''
        const last = all.at(-1)?.to ?? ''
        return `${name}: no report of followers for ${text(all.length)} of ${text(points.length)} points from ${first} to ${last}. ${reason}`
      }),
    ]
  })
}
