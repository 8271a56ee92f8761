import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { MonthlyUses } from './monthly-uses.ts'
import { PlanService } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly plans: PlanService
    readonly planUses: MonthlyUses
  }
}

/** Builds the service of the domain. */
export function composePlans(foundation: Foundation, { users }: Pick<Services, 'users'>) {
  const plans = new PlanService(foundation)
  users.accounts.subscriptions.provide(plans)
  return { services: { plans, planUses: new MonthlyUses(foundation.clock, plans) }, close: () => plans.close() }
}
