import { type EntityManager, type MikroORM } from '@mikro-orm/postgresql'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'

/**
 * An entity manager that runs all statements on one connection, inside a transaction that its caller opened and will
 * end. MikroORM uses the executor of a transaction as its "transaction context". A Kysely over that single connection
 * serves as one, and MikroORM never calls its own `begin` because the context is already set.
 */
export function boundEntityManager(orm: MikroORM, connection: Pool): EntityManager {
  const executor = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: connection }) })
  const em = orm.em.fork()
  em.setTransactionContext(executor)
  return em
}
