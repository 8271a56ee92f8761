import type { EntitySchema } from '@mikro-orm/postgresql'
import { assetEntities } from './assets/entities.ts'
import { authEntities } from './auth/entities.ts'
import { chatEntities } from './chat/entities.ts'
import { foundationEntities } from './db/entities.ts'
import { jobEntities } from './jobs/entities.ts'
import { mailEntities } from './mail/entities.ts'
import { planEntities } from './plans/entities.ts'
import { ServiceSwitch } from './services/tables.ts'
import { streamEntities } from './streams/entities.ts'
import { teamEntities } from './team/entities.ts'
import { ApiKey } from './users/api-key-table.ts'
import { userEntities } from './users/entities.ts'
import { workspaceEntities } from './workspaces/entities.ts'

/** Every entity of the service; the schema of the database is checked against this list. */
export const entities: readonly EntitySchema[] = [
  ...foundationEntities,
  ...userEntities,
  ApiKey,
  ...authEntities,
  ...assetEntities,
  ...jobEntities,
  ...mailEntities,
  ...planEntities,
  ServiceSwitch,
  ...workspaceEntities,
  ...streamEntities,
  ...teamEntities,
  ...chatEntities,
]
