import { expect, test } from 'vitest'
import type { PlatformStatsData } from '../../../publishing/analytics/index.ts'
import { keepProven } from './check.ts'
import { factsOf } from './facts.ts'

const figure = (name: string, value: number | null, rest: object = {}) => ({
  figure: name,
  value,
  change: null,
  changeRate: null,
  previousValue: null,
  comparison: null,
  gap: null,
  ...rest,
})

const stats = {
  timezone: 'Europe/Berlin',
  span: { from: '2026-11-01', to: '2026-11-30', dayCount: 30 },
  previousSpan: { from: '2026-10-02', to: '2026-10-31', dayCount: 30 },
  totals: [{ figure: 'likes', value: 1_234, previousValue: 1_000, accountCount: 2 }],
  accounts: [
    {
      accountName: 'Studio 54',
      platform: 'mastodon',
      publishedCount: 7,
      engagements: 40,
      figures: [
        figure('followers', 2_000, { change: -50, changeRate: -0.0244 }),
        figure('views', 12_500, { previousValue: 10_000, comparison: 0.25 }),
        figure('reach', null),
      ],
      rates: [{ rate: 'engagementRateByFollowers', value: 0.02, previousValue: null }],
    },
  ],
} as unknown as PlatformStatsData

test('facts are made of the figures that have a value', () => {
  expect(factsOf(stats).map(({ factNumber, statement }) => `${factNumber} ${statement}`)).toEqual([
    '1 The time from 2026-11-01 to 2026-11-30 has 30 days.',
    '2 All accounts (2 with this figure): 1,234 likes, 1,000 in the 30 days before.',
    '3 Studio 54 (mastodon) published 7 posts.',
    '4 Studio 54 (mastodon) has 2,000 followers, 50 fewer (2.4 %) than at the start.',
    '5 Studio 54 (mastodon) gained 12,500 views, 10,000 in the 30 days before (25 % more).',
    '6 Studio 54 (mastodon) has 2 % engagements for its followers.',
  ])
})

test('the statements of facts are proven by themselves, but for the span of the comparison', () => {
  const facts = factsOf(stats)
  const cited = facts.map(({ factNumber, statement }) => ({ text: statement, factNumbers: [factNumber, 1] }))
  expect(keepProven(cited, facts)).toEqual(cited)
})

test.each<[string, number[], boolean]>([
  ['Likes rose from 1,000 to 1,234.', [2], true],
  ['Die Likes stiegen von 1.000 auf 1.234.', [2], true],
  ['Likes rose by 234, which is 23.4 %.', [2], true],
  ['Likes rose by about 23 %.', [2], true],
  ['Views grew 25 % to 12.5K.', [5], true],
  ['Studio 54 lost 50 followers.', [4], true],
  ['From 2026-11-01 on, Studio 54 lost followers.', [4], true],
  ['Likes rose to 1,235.', [2], false],
  ['Likes rose by 24 %.', [2], false],
  ['Likes doubled.', [2], false],
  ['Seven posts were published.', [3], false],
  ['Views grew 25 %.', [4], false],
  ['Since 2025-01-01, views grew 25 %.', [5], false],
  ['Views grew.', [], false],
  ['Views grew 25 %.', [5, 99], false],
])('%s citing %j is proven: %s', (text, factNumbers, isKept) => {
  expect(keepProven([{ text, factNumbers }], factsOf(stats))).toHaveLength(isKept ? 1 : 0)
})
