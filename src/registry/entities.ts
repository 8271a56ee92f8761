import type { EntitySchema } from '@mikro-orm/postgresql'
import { assetEntities } from '../domains/media/assets/entities.ts'
import { authEntities } from '../domains/identity/auth/entities.ts'
import { chatEntities } from '../domains/talk/chat/tables.ts'
import { foundationEntities } from '../db/entities.ts'
import { jobEntities } from '../jobs/entities.ts'
import { mailEntities } from '../mail/entities.ts'
import { planEntities } from '../domains/money/plans/entities.ts'
import { ServiceSwitch } from '../domains/system/switches/tables.ts'
import { streamEntities } from '../domains/live/streams/entities.ts'
import { teamEntities } from '../domains/workspace/team/entities.ts'
import { ApiKey } from '../domains/identity/users/api-key-table.ts'
import { userEntities } from '../domains/identity/users/entities.ts'
import { workspaceEntities } from '../domains/workspace/workspaces/entities.ts'

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
