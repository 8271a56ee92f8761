/** What other domains use of plans. */

export { PLAN_NAMES, type PlanName } from '../../identity/users/index.ts'
export { PlanService, type Allowance, type CreditMonth } from './service.ts'
