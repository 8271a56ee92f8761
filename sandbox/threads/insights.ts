import { graphError } from '../meta/graph.ts'
import { json, type FakeReply } from '../fake.ts'
import type { FakeProfile } from './state.ts'

/** Shares of the followers. They need not add up to all, because Threads does not know everyone. */
const DEMOGRAPHICS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  country: { BR: 0.4, US: 0.3, JP: 0.1 },
  city: { 'São Paulo, São Paulo': 0.2, 'Tokyo, Tokyo': 0.1 },
  age: { '18-24': 0.5, '25-34': 0.3 },
  gender: { F: 0.4, M: 0.5, U: 0.1 },
}
const MIN_FOLLOWERS = 100

/** Insights of a profile (Threads Insights API, User Insights, 2026-11). */
export function profileInsights(
  params: Readonly<Record<string, string>>,
  { followers = 0, id }: FakeProfile,
): FakeReply {
  const { breakdown = '', metric = '' } = params
  if (metric === 'followers_count') {
    return json(200, {
      data: [{ name: metric, period: 'day', total_value: { value: followers }, id: `${id}/${metric}` }],
    })
  }
  if (metric !== 'follower_demographics') return invalid(`Param metric ${metric} is unknown`)
  if ('since' in params || 'until' in params) return invalid('follower_demographics has no since and until')
  const shares = DEMOGRAPHICS[breakdown]
  if (shares === undefined) return invalid('Param breakdown must be one of {COUNTRY, CITY, AGE, GENDER}')
  if (followers < MIN_FOLLOWERS) return invalid('The profile has fewer than 100 followers')
  const results = Object.entries(shares).map(([group, share]) => ({
    dimension_values: [group],
    value: Math.floor(followers * share),
  }))
  const total = { breakdowns: [{ dimension_keys: [breakdown], results }] }
  return json(200, { data: [{ name: metric, period: 'lifetime', total_value: total, id: `${id}/${metric}` }] })
}

function invalid(message: string): FakeReply {
  return graphError(100, message, { type: 'THApiException' })
}
