import type { EntitySchema } from '@mikro-orm/postgresql'
import type { Domain } from '../domain.ts'
import { domains } from './domains.ts'

/** Every entity of the service; the schema of the database is checked against this list. */
export const entities: readonly EntitySchema[] = domains.flatMap(({ entities: declared = [] }: Domain) => declared)
