import type { SubscriptionRow } from '../plans/index.ts'
import type { Standing } from './planned-change.ts'
import type { CycleRow } from './tables.ts'

/** A subscription as the calculation of changes takes it. @param cycles those that are not replaced, in any order */
export function standingOf(row: SubscriptionRow, cycles: readonly CycleRow[], now: number): Standing {
  const periodEnd = row.periodEnd === null ? null : Date.parse(row.periodEnd)
  const paid = cycles
    .filter(({ endsAt, kind, replacedAt }) => kind === 'paid' && replacedAt === null && Date.parse(endsAt) > now)
    .map(({ couponId, discount, endsAt, extraAccounts, id, net, plan, startsAt, term }) => {
      const period = { start: Date.parse(startsAt), end: Date.parse(endsAt) }
      return { id, plan, term, extraAccounts, net, discount, couponId, ...period }
    })
    .toSorted((a, b) => a.start - b.start)
  return {
    status: row.status,
    plan: row.plan,
    term: row.term,
    anchor: Date.parse(row.anchorAt),
    periodEnd,
    isTrial: row.periodEnd !== null && row.periodEnd === row.trialEndsAt,
    extraAccounts: row.extraAccounts,
    extraRemoval: row.extraRemoval,
    nextPlan: row.nextPlan,
    paid,
  }
}
