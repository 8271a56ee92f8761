import type { Foundation } from '../../../foundation.ts'
import { ServiceSwitches } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly switches: ServiceSwitches
  }
}

/** Builds the service of the domain. @param services the names of all services, which are the domains of operations */
export function composeSwitches(foundation: Foundation, { services }: { readonly services: readonly string[] }) {
  return new ServiceSwitches(foundation, services)
}
