import { domain } from '../../../domain.ts'
import { composeApps } from './compose.ts'
import * as entryOperations from './entry-operations.ts'
import * as operations from './operations.ts'
import { App, AppRelease } from './tables.ts'

export const apps = domain({
  name: 'apps',
  about: 'Apps to download, and how administrators publish them',
  operations: { ...operations, ...entryOperations },
  entities: [App, AppRelease],
  compose: composeApps,
})
