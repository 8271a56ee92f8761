import type { AccountAudiences } from '../reads/audience.ts'
import type { GapCode } from '../figures.ts'
import type { ReportWords } from './language.ts'
import type { ReportTable } from './model.ts'

type Audience = Awaited<ReturnType<AccountAudiences['of']>>

/** Groups of one account in a table. */
const MAX_GROUPS = 5
const DIMENSIONS = ['country', 'city', 'age', 'gender'] as const
type Dimension = (typeof DIMENSIONS)[number]
const GENDERS = ['F', 'M', 'U'] as const

/** A table for each dimension that a platform reports: the largest groups of each account. */
export function audienceTables({ accounts }: Audience, words: ReportWords): ReportTable[] {
  const { number, percent, say } = words
  return DIMENSIONS.flatMap((dimension) => {
    const rows = accounts.flatMap(({ accountName, dimensions, platform }) => {
      const groups = dimensions.find((one) => one.dimension === dimension)?.groups ?? []
      const largest = groups.toSorted((one, other) => other.count - one.count).slice(0, MAX_GROUPS)
      return largest.map(({ count, group, share }) => [
        nameOf(dimension, group, words),
        `${accountName} (${platform})`,
        number(count),
        percent(share),
      ])
    })
    if (rows.length === 0) return []
    const columns = [say(`dimension.${dimension}`), say('account'), say('figure.followers'), say('share')]
    return [{ title: say(`audience.${dimension}`), columns, rows }]
  })
}

/** Why accounts have no audience, each reason once. */
export function audienceGaps({ accounts }: Audience, { say, within }: ReportWords): string[] {
  return accounts.flatMap(({ accountName, dimensions, platform }) => {
    const missing = dimensions.flatMap(({ dimension, gap }) => (gap === null ? [] : [{ dimension, code: gap.code }]))
    const reasons = Map.groupBy(missing, ({ code }) => code)
    return [...reasons].map(([code, all]) => {
      const names = all.map(({ dimension }) => within(say(`dimension.${dimension}`))).join(', ')
      const reason = say(reasonKey(code))
      return say('gap.audience', { account: `${accountName} (${platform})`, dimensions: names, reason })
    })
  })
}

function reasonKey(code: GapCode) {
  return code === 'not_started' || code === 'not_collected'
    ? (`gap.audience.${code}` as const)
    : (`gap.reason.${code}` as const)
}

function nameOf(dimension: Dimension, group: string, { language, say }: ReportWords): string {
  if (dimension === 'gender') {
    const known = GENDERS.find((gender) => gender === group)
    return known === undefined ? group : say(`gender.${known}`)
  }
  if (dimension !== 'country' || !/^[A-Z]{2}$/.test(group)) return group
  return new Intl.DisplayNames([language], { type: 'region', fallback: 'code' }).of(group) ?? group
}
