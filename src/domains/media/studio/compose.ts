import type { Foundation } from '../../../foundation.ts'
import { StudioProjects } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly studio: { readonly projects: StudioProjects }
  }
}

/** Builds the service of the domain. */
export function composeStudio({ clock, database }: Foundation) {
  return { services: { studio: { projects: new StudioProjects(database, clock) } } }
}
