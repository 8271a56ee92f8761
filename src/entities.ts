import type { EntitySchema } from '@mikro-orm/postgresql'
import { authEntities } from './auth/entities.ts'
import { userEntities } from './users/entities.ts'

/** Every entity of the service; the schema of the database is checked against this list. */
export const entities: readonly EntitySchema[] = [...userEntities, ...authEntities]
