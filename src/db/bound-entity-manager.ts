import { type EntityManager, type MikroORM } from '@mikro-orm/postgresql'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'

/**
 * An entity manager whose every statement runs on one connection, inside a transaction that somebody else opened and
 * will end. MikroORM takes the executor of a transaction as its "transaction context"; a Kysely over that single
 * connection is one, and its own `begin` never runs because the context is already set.
 */
export function boundEntityManager(orm: MikroORM, connection: Pool): EntityManager {
  const executor = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: connection }) })
  const em = orm.em.fork()
  em.setTransactionContext(executor)
  return em
}
