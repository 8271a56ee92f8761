import type { Foundation } from '../../../foundation.ts'
import { Purposes } from './purposes.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly payments: ReturnType<typeof composePayments>['services']['payments']
  }
}

/** Builds the services of payments. */
export function composePayments(_foundation: Foundation) {
  return { services: { payments: { purposes: new Purposes() } } }
}
