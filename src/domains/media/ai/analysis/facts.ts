import type { PlatformStatsData } from '../../../publishing/analytics/index.ts'

/** A sentence that Crier made of figures, and the figures in it. Analyses cite facts by their number. */
export interface AnalysisFact {
  readonly factNumber: number
  readonly statement: string
  /** Shares are fractions of 1. */
  readonly values: readonly number[]
}

/** How many accounts get separate facts: those with the most followers. */
const MAX_ACCOUNTS = 20

const LABELS = {
  followers: 'followers',
  contentCount: 'posts in total',
  views: 'views',
  reach: 'reached people',
  likes: 'likes',
  comments: 'comments',
  shares: 'shares',
  saves: 'saves',
  clicks: 'clicks',
} as const
type Label = keyof typeof LABELS

const text = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 2 })
const percent = (share: number) => `${(Math.abs(share) * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`

/** The facts of a span: of all accounts together first, then of each. Figures without a value make no fact. */
export function factsOf({ accounts, previousSpan, span, totals }: PlatformStatsData): AnalysisFact[] {
  const found: Omit<AnalysisFact, 'factNumber'>[] = [
    { statement: `The time from ${span.from} to ${span.to} has ${text(span.dayCount)} days.`, values: [span.dayCount] },
  ]
  const compared = previousSpan === null ? '' : ` in the ${text(previousSpan.dayCount)} days before`
  for (const { accountCount, figure, previousValue, value } of totals) {
    const label = LABELS[figure as Label] as string | undefined
    if (label === undefined || value === null) continue
    const before = previousValue === null ? '' : `, ${text(previousValue)}${compared}`
    found.push({
      statement: `All accounts (${text(accountCount)} with this figure): ${text(value)} ${label}${before}.`,
      values: [accountCount, value, ...changeOf(value, previousValue)],
    })
  }
  const shown = accounts.toSorted((one, other) => followersOf(other) - followersOf(one)).slice(0, MAX_ACCOUNTS)
  for (const account of shown) found.push(...ofAccount(account, compared))
  return found.map((fact, index) => ({ ...fact, factNumber: index + 1 }))
}

type Account = PlatformStatsData['accounts'][number]

function ofAccount(account: Account, compared: string): Omit<AnalysisFact, 'factNumber'>[] {
  const { accountName, figures, platform, publishedCount, rates } = account
  const name = `${accountName} (${platform})`
  const published = { statement: `${name} published ${text(publishedCount)} posts.`, values: [publishedCount] }
  const values = figures.flatMap(({ change, changeRate, comparison, figure, previousValue, value }) => {
    const label = LABELS[figure as Label] as string | undefined
    if (label === undefined || value === null) return []
    if (change !== null) {
      const rate = changeRate === null ? '' : ` (${percent(changeRate)})`
      const more = `${text(Math.abs(change))} ${change < 0 ? 'fewer' : 'more'}${rate} than at the start`
      return [{ statement: `${name} has ${text(value)} ${label}, ${more}.`, values: [value, change, changeRate ?? 0] }]
    }
    const rate = comparison === null ? '' : ` (${percent(comparison)} ${comparison < 0 ? 'less' : 'more'})`
    const before = previousValue === null ? '' : `, ${text(previousValue)}${compared}${rate}`
    return [
      {
        statement: `${name} gained ${text(value)} ${label}${before}.`,
        values: [value, ...changeOf(value, previousValue)],
      },
    ]
  })
  const shares = rates.flatMap(({ previousValue, rate, value }) => {
    if (value === null) return []
    const label = rate === 'engagementRateByReach' ? 'reached people' : 'followers'
    const before = previousValue === null ? '' : `, ${percent(previousValue)}${compared}`
    const statement = `${name} has ${percent(value)} engagements for its ${label}${before}.`
    return [{ statement, values: [value, ...changeOf(value, previousValue)] }]
  })
  return [published, ...values, ...shares]
}

/** What may be said about a value and the one before: that value, the difference, and its share. */
function changeOf(value: number, previous: number | null): number[] {
  if (previous === null) return []
  return [previous, value - previous, ...(previous === 0 ? [] : [(value - previous) / previous])]
}

function followersOf({ figures }: Account): number {
  return figures.find(({ figure }) => figure === 'followers')?.value ?? 0
}
