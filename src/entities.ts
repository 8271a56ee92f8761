import type { EntitySchema } from '@mikro-orm/postgresql'

/** Every entity of the service; the schema of the database is checked against this list. */
export const entities: readonly EntitySchema[] = []
