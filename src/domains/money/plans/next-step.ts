import type { PlanName } from '../../identity/users/index.ts'
import { PLANS, type LimitName, type Plan, type PlanLimits } from './plans.ts'

/** How to get below a limit. For limits that are not listed, something must be removed. */
const OTHER_WAYS: Partial<Record<LimitName, string>> = {
  aiCreditsPerMonth: 'Wait for the next month.',
  concurrentStreams: 'End another stream first.',
  rendersPerMonth: 'Wait for the next month.',
  socialAccounts: 'Archive or disconnect some.',
  storageBytes: 'Delete files, or cancel open uploads.',
  streamingMinutesPerMonth: 'Wait for the next month.',
}

/** The smallest plan that allows more than a user has. Undefined if there is none. */
export function largerPlan(allowance: PlanLimits, limit: LimitName): Plan | undefined {
  return Object.values(PLANS).find(({ limits }) => limits[limit] > allowance[limit])
}

/** A plan as error messages name it: `pro plan`, or `trial of the pro plan`. */
export function planLabel({ isTrial, plan }: { readonly plan: PlanName; readonly isTrial: boolean }): string {
  return isTrial ? `trial of the ${plan} plan` : `${plan} plan`
}

/** What can be done when a limit is reached. */
export function nextStep(
  allowance: PlanLimits & { readonly plan: PlanName; readonly isTrial: boolean },
  limit: LimitName,
): string {
  const other = OTHER_WAYS[limit] ?? 'Remove what is not needed.'
  const paid = PLANS[allowance.plan].limits[limit]
  if (allowance.isTrial && paid > allowance[limit]) {
    return `${other} Or the user who pays for the plan can pay for its first cycle, which allows ${paid}, at /billing.`
  }
  const larger = largerPlan(allowance, limit)
  const canAdd = limit === 'socialAccounts' && PLANS[allowance.plan].extraAccountPrices !== null
  const ways = [
    ...(larger === undefined ? [] : [`upgrade to ${larger.name}, which allows ${larger.limits[limit]}`]),
    ...(canAdd ? ['add extra accounts'] : []),
  ]
  return ways.length === 0 ? other : `${other} Or the user who pays for the plan can ${ways.join(' or ')}, at /billing.`
}
