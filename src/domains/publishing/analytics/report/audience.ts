import type { AccountAudiences } from '../reads/audience.ts'
import type { ReportTable } from './model.ts'

type Audience = Awaited<ReturnType<AccountAudiences['of']>>

/** Groups of one account in a table. */
const MOST_GROUPS = 5
const TITLES = { country: 'Country', city: 'City', age: 'Age', gender: 'Gender' } as const
const GENDERS: Readonly<Record<string, string>> = { F: 'Women', M: 'Men', U: 'Not known' }
const COUNTRIES = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'code' })

/** A table for each dimension that a platform reports: the largest groups of each account. */
export function audienceTables({ accounts }: Audience): ReportTable[] {
  return (['country', 'city', 'age', 'gender'] as const).flatMap((dimension) => {
    const rows = accounts.flatMap(({ accountName, dimensions, platform }) => {
      const groups = dimensions.find((one) => one.dimension === dimension)?.groups ?? []
      const largest = groups.toSorted((one, other) => other.count - one.count).slice(0, MOST_GROUPS)
      return largest.map(({ count, group, share }) => [
        nameOf(dimension, group),
        `${accountName} (${platform})`,
        count.toLocaleString('en'),
        `${(share * 100).toLocaleString('en', { maximumFractionDigits: 1 })} %`,
      ])
    })
    const title = TITLES[dimension]
    if (rows.length === 0) return []
    return [{ title: `Followers by ${title.toLowerCase()}`, columns: [title, 'Account', 'Followers', 'Share'], rows }]
  })
}

/** Why accounts have no audience, each reason once. */
export function audienceGaps({ accounts }: Audience): string[] {
  return accounts.flatMap(({ accountName, dimensions, platform }) => {
    const missing = dimensions.filter(({ gap }) => gap !== null)
    const reasons = Map.groupBy(missing, ({ gap }) => gap?.message ?? '')
    return [...reasons].map(([reason, all]) => {
      const names = all.map(({ dimension }) => TITLES[dimension].toLowerCase()).join(', ')
      return `${accountName} (${platform}): no followers by ${names}. ${reason}`
    })
  })
}

function nameOf(dimension: keyof typeof TITLES, group: string): string {
  if (dimension === 'gender') return GENDERS[group] ?? group
  return dimension === 'country' && /^[A-Z]{2}$/.test(group) ? (COUNTRIES.of(group) ?? group) : group
}
