/** What other domains use of plans. */

export { PLAN_NAMES, type PlanName } from '../../identity/users/index.ts'
export { addMonths } from './cycle.ts'
export { nextStep } from './next-step.ts'
export { PLANS, TERM_MONTHS, TERMS, type LimitName, type Money, type Plan, type Term } from './plans.ts'
export { Money as MoneyView } from './schemas.ts'
export { PlanService, type Allowance, type CreditMonth } from './service.ts'
export type { SubscriptionRow } from './tables.ts'
