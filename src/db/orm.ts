import { MikroORM, type EntitySchema } from '@mikro-orm/postgresql'
import { Migrator } from '@mikro-orm/migrations'
import { PostgresDialect } from 'kysely'
import type { Pool } from 'pg'
import type { Logger } from '../core/log.ts'
import { migrations } from './migrations/index.ts'
import { ColumnNames } from './naming.ts'

export interface OrmOptions {
  readonly url: string
  readonly entities: readonly EntitySchema[]
  readonly log: Logger
}

/** Opens MikroORM on the connections of a pool. It takes 75 ms to read the entities, so a node opens it only to use it. */
export function openOrm({ entities, log, url }: OrmOptions, pool: Pool): MikroORM {
  return new MikroORM({
    clientUrl: url,
    driverOptions: () => new PostgresDialect({ pool }),
    entities: [...entities],
    entitiesTs: [...entities],
    discovery: { warnWhenNoEntities: false },
    extensions: [Migrator],
    namingStrategy: ColumnNames,
    // The job queues own and migrate the tables in `bullmq`. Functions and triggers are created by migrations only.
    schemaGenerator: { ignoreSchema: ['bullmq'], ignoreRoutines: true, ignoreTriggers: true },
    migrations: { migrationsList: migrations, tableName: MIGRATIONS, allOrNothing: true, snapshot: false },
    logger: (message) => log.debug({ part: 'orm' }, message),
  })
}

/** The table of the migrations that have run. */
export const MIGRATIONS = 'migrations'
