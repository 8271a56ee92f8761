/** What other domains use of plans. */

export { PLAN_NAMES, type PlanName } from '../../identity/users/index.ts'
export { addMonths } from './cycle.ts'
export { TrialUsed } from './errors.ts'
export { MonthlyUses } from './monthly-uses.ts'
export { nextStep, planLabel } from './next-step.ts'
export {
  DEFAULT_TRIAL_LIMITS,
  LIMITS,
  PLANS,
  TERM_MONTHS,
  TERMS,
  type LimitName,
  type Money,
  type Plan,
  type Term,
  type TrialLimits,
} from './plans.ts'
export { Money as MoneyView } from './schemas.ts'
export { PlanService, type Allowance, type CreditMonth } from './service.ts'
export type { SubscriptionRow } from './tables.ts'
