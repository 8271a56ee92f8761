import { graphError } from '../meta/graph.ts'
import { json, type FakeReply } from '../fake.ts'
import type { FakeAccount } from './state.ts'

/** Shares of the followers. They need not add up to all, because Instagram does not know everyone. */
const DEMOGRAPHICS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  country: { NP: 0.5, IN: 0.2, DE: 0.1 },
  city: { 'Kathmandu, Bagmati': 0.3, 'Berlin, Berlin': 0.1 },
  age: { '18-24': 0.3, '25-34': 0.4, '35-44': 0.2 },
  gender: { F: 0.5, M: 0.4, U: 0.1 },
}

/** The followers in groups (Instagram User Insights, 2026-11). */
export function demographicsOf(
  params: Readonly<Record<string, string>>,
  { followers = 0, id }: FakeAccount,
): FakeReply {
  if (params['metric'] !== 'follower_demographics') {
    return graphError(100, `(#100) metric ${params['metric'] ?? ''} is not available`)
  }
  if (params['period'] !== 'lifetime' || params['metric_type'] !== 'total_value') {
    return graphError(100, '(#100) Incompatible period or metric_type for follower_demographics')
  }
  const breakdown = params['breakdown'] ?? ''
  const shares = DEMOGRAPHICS[breakdown]
  if (shares === undefined) return graphError(100, `(#100) breakdown ${breakdown} is not available`)
  if (followers < 100) return json(200, { data: [] })
  const results = Object.entries(shares).map(([group, share]) => ({
    dimension_values: [group],
    value: Math.floor(followers * share),
  }))
  const total = { breakdowns: [{ dimension_keys: [breakdown], results }] }
  const one = { name: 'follower_demographics', period: 'lifetime', total_value: total }
  return json(200, { data: [{ ...one, id: `${id}/insights/follower_demographics/lifetime` }] })
}
