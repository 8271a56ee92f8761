import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { StudioRenderer } from './renders/renderer.ts'
import { StudioRenders } from './renders/requests.ts'
import { StudioProjects } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly studio: ReturnType<typeof composeStudio>['services']['studio']
  }
}

/** Builds the services of the domain. */
export function composeStudio(foundation: Foundation, { assets }: Pick<Services, 'assets'>) {
  const { clock, database } = foundation
  const { folders, intake, library, quota } = assets
  const studio = {
    projects: new StudioProjects(database, clock),
    renders: new StudioRenders({ sql: database, clock, folders, library, quota }),
    renderer: new StudioRenderer({ ...foundation, intake, quota }),
  }
  return { services: { studio } }
}
