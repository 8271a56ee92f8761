import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { Ledger } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly ledger: Ledger
  }
}

/** Builds the service of the domain. */
export function composeLedger(foundation: Foundation, { health, plans }: Pick<Services, 'health' | 'plans'>) {
  const ledger = new Ledger(foundation, (sql, userId) => plans.creditMonthOf(sql, userId))
  plans.creditsOf.provide((sql, userId, month) => ledger.credits.remainingOf(sql, userId, month))
  health.register('ledger', async () => {
    const { checkedAt, faults } = await ledger.inspector.look()
    return { checkedAt: checkedAt ?? 'never', faults: faults.length }
  })
  return {
    services: { ledger },
    start: async () => {
      await ledger.inspector.look()
      ledger.inspector.start()
    },
    close: () => ledger.inspector.close(),
  }
}
