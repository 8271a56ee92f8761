import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { assetUses } from './asset-uses.ts'
import { StudioRenderer } from './renders/renderer.ts'
import { StudioRenders } from './renders/requests.ts'
import { listTemplates } from './templates/catalog.ts'
import { StudioProjects } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly studio: ReturnType<typeof composeStudio>['services']['studio']
  }
}

/** Builds the services of the domain. */
export function composeStudio(foundation: Foundation, { assets, planUses }: Pick<Services, 'assets' | 'planUses'>) {
  const { clock, database } = foundation
  assets.uses.register(assetUses)
  const { folders, intake, library, quota } = assets
  const studio = {
    projects: new StudioProjects(database, clock),
    templates: { list: () => listTemplates(foundation.config.PUBLIC_URL) },
    renders: new StudioRenders({ sql: database, clock, folders, library, planUses, quota }),
    renderer: new StudioRenderer({ ...foundation, intake, quota }),
  }
  return { services: { studio } }
}
