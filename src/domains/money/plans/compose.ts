import type { Foundation } from '../../../foundation.ts'
import { PlanService } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly plans: PlanService
  }
}

/** Builds the service of the domain. `payerOf` belongs to workspaces, a domain that depends on plans. */
export function composePlans(
  { clock, config, coordination, database }: Foundation,
  { payerOf }: { readonly payerOf: (workspaceId: string) => Promise<string | undefined> },
): PlanService {
  return new PlanService({ sql: database, clock, coordination, defaultPlan: config.DEFAULT_PLAN, payerOf })
}
