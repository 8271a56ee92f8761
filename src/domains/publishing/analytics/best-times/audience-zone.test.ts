import { expect, test } from 'vitest'
import { zoneOfAudience } from './audience-zone.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const gap = { code: 'not_reported' as const, message: 'X does not report this.' }

/** Accounts by the followers of each country. Null: the platform does not report them. */
function audience(...all: readonly (Readonly<Record<string, number>> | null)[]) {
  return {
    accounts: all.map((countries) => ({
      accountId: 'a',
      platform: 'instagram',
      accountName: 'Ada',
      dimensions: [
        {
          dimension: 'country' as const,
          at: null,
          groups: Object.entries(countries ?? {}).map(([group, count]) => ({ group, count, share: 0 })),
          gap: countries === null ? gap : null,
        },
      ],
    })),
  }
}

test.each([
  [[{ NP: 60, BR: 40 }], /^Asia\/Kat/],
  // Büsingen has had the time of Berlin since 1983.
  [[{ DE: 10 }, { DE: 10, NP: 15 }, null], /^Europe\/Berlin$/],
])('the country of most followers has one zone (%j)', (countries, zone) => {
  expect(zoneOfAudience(audience(...countries), NOW)).toEqual({ zone: expect.stringMatching(zone) as string })
})

test.each([
  [[{ BR: 60, NP: 40 }], /BR, which has several zones/],
  [[{ unknown: 5 }], /country unknown is not known/],
  [[null], /^X does not report this\.$/],
  [[], /no account/],
])('without one zone, the reason is given (%j)', (countries, message) => {
  expect(zoneOfAudience(audience(...countries), NOW)).toEqual({
    code: 'not_reported',
    message: expect.stringMatching(message) as string,
  })
})
