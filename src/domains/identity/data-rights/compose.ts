import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { AccountDeletions } from './deletion.ts'
import { DataExport } from './export.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly dataRights: ReturnType<typeof composeDataRights>['services']['dataRights']
  }
}

/** Builds the services for the rights of persons to their data. */
export function composeDataRights(
  foundation: Foundation,
  services: Pick<Services, 'auth' | 'billing' | 'users' | 'workspaces'>,
) {
  const { personal } = foundation.declared
  const dataRights = {
    export: new DataExport(foundation, services.workspaces.memberships, personal),
    deletions: new AccountDeletions(foundation, services, personal),
  }
  return { services: { dataRights } }
}
