import { DAY } from '../../../../core/clock.ts'
import { zoneRules } from '../../calendar/index.ts'
import type { AccountAudiences } from '../reads/audience.ts'
import type { GapView } from '../schemas.ts'

type Audience = Awaited<ReturnType<AccountAudiences['of']>>

/**
 * The zone of the country that most followers of accounts live in, or why it is not known. Platforms report countries
 * only, so a country whose zones differ has no answer.
 */
export function zoneOfAudience({ accounts }: Audience, now: number): { readonly zone: string } | GapView {
  const countries = accounts.flatMap(({ dimensions }) => dimensions.filter(({ dimension }) => dimension === 'country'))
  const counts = new Map<string, number>()
  for (const { count, group } of countries.flatMap(({ groups }) => groups)) {
    counts.set(group, (counts.get(group) ?? 0) + count)
  }
  const [country] = [...counts].toSorted(([, one], [, other]) => other - one)[0] ?? []
  if (country === undefined) {
    const gap = countries.find((dimension) => dimension.gap !== null)?.gap
    return gap ?? { code: 'not_reported', message: 'There is no account whose platform reports countries.' }
  }
  const zones = zonesOf(country)
  const [zone] = zones
  if (zone === undefined) return { code: 'not_reported', message: `The zone of the country ${country} is not known.` }
  // Some zones differed only in the past. So offsets are compared now and in half a year, because of daylight saving.
  const areEqual = [now, now + 182 * DAY].every((at) => {
    return new Set(zones.map((one) => zoneRules.offsetAt(one, at))).size === 1
  })
  if (areEqual) return { zone }
  const message = `Most followers live in the country ${country}, which has several zones. Choose one with \`timezone\`.`
  return { code: 'not_reported', message }
}

/** The zones of an ISO 3166 country. */
function zonesOf(country: string): readonly string[] {
  if (!/^[A-Z]{2}$/.test(country)) return []
  // In ECMA-402 since 2025; the types of TypeScript do not have it yet.
  const locale = new Intl.Locale('und', { region: country }) as { getTimeZones?: () => readonly string[] | undefined }
  return locale.getTimeZones?.() ?? []
}
