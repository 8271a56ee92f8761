import type { Foundation } from '../../../foundation.ts'
import { ServiceSwitches } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly switches: ServiceSwitches
  }
}

/** Builds the service of the domain. */
export function composeSwitches(foundation: Foundation) {
  const switches = new ServiceSwitches(foundation, foundation.declared.services)
  return { services: { switches }, start: () => switches.refresh(), close: () => switches.close() }
}
