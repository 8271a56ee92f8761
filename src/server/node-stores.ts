import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Coordination } from '../coordination/coordination.ts'
import { InProcessCoordination } from '../coordination/in-process.ts'
import { RedisCoordination } from '../coordination/redis.ts'
import type { Logger } from '../core/log.ts'
import { postgresUrl } from '../tools/postgres-url.ts'
import { redisUrl } from '../tools/redis-url.ts'
import { Database } from '../db/database.ts'
import { entities } from '../registry/entities.ts'
import type { StoreChoice } from '../jobs/stores.ts'
import type { DataDirectory } from '../setup/data-directory.ts'
import { startEmbeddedPostgres } from '../setup/embedded-postgres.ts'
import { findRedisServer, startPrivateRedis } from '../setup/redis-server.ts'
import { unreachable } from '../setup/unreachable.ts'
import type { Undo } from './undo.ts'

/** What a node needs to open its database and its Redis. */
export interface StoresOptions {
  readonly config: Config
  readonly directory: DataDirectory
  readonly log: Logger
  readonly undo: Undo
  /** Lines of the startup banner, to which this adds. */
  readonly facts: [string, string][]
}

/**
 * Opens the configured or the embedded database and migrates its schema.
 * @throws Error that names the setting, when the database cannot be used
 */
export async function openDatabase({ config, directory, log, undo, facts }: StoresOptions): Promise<Database> {
  const { DATABASE_URL: external } = config
  let url = external
  if (url === undefined) {
    const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: log.child({ part: 'postgres' }) })
    undo.add('embedded PostgreSQL', () => postgres.stop())
    url = postgres.url
    facts.push(['Database', `embedded PostgreSQL ${postgres.version}`])
  } else {
    facts.push(['Database', `PostgreSQL at ${postgresUrl(url).hosts}`])
  }
  const database = await Database.connect({ url, poolSize: config.DATABASE_POOL, entities, log }).catch(
    (error: unknown) => {
      if (external === undefined) throw error
      throw unreachable('DATABASE_URL', `PostgreSQL at ${postgresUrl(external).hosts}`, error)
    },
  )
  undo.add('database', () => database.close())
  const { ran, wasEmpty } = await database.migrate()
  if (ran.length > 0) log.info({ migrations: ran }, 'the database schema was migrated')
  if (wasEmpty) tellOfNewDatabase(external, directory, log, facts)
  return database
}

/** A new database is normal on a first start. Otherwise it suggests that the settings point to the wrong place. */
function tellOfNewDatabase(
  external: string | undefined,
  directory: DataDirectory,
  log: Logger,
  facts: [string, string][],
): void {
  const [where, setting] =
    external === undefined
      ? [join(directory.path, 'postgres'), 'DATA_DIR']
      : [`${postgresUrl(external).hosts}/${postgresUrl(external).database}`, 'DATABASE_URL']
  const text = `a new, empty database was created at ${where}. If you expected your data there, stop and check ${setting}`
  log.warn({ where, setting }, text)
  facts.push(['Warning', text])
}

/**
 * Connects to the configured Redis or to a private one. Without a Redis, coordination is in-process.
 * @throws Error that names the setting, when a Redis is configured and cannot be used
 */
export async function openCoordination(options: StoresOptions): Promise<Coordination> {
  const { config, facts, log, undo } = options
  const url = config.REDIS_URL ?? (await openPrivateRedis(options))
  if (url === undefined) {
    facts.push(['Coordination', 'in-process (single node; set REDIS_URL for several)'])
    return new InProcessCoordination(log)
  }
  const coordination = new RedisCoordination(url, log.child({ part: 'redis' }))
  undo.add('redis', () => coordination.close())
  const where = config.REDIS_URL === undefined ? 'a private Redis' : `Redis at ${redisUrl(url).hosts}`
  await coordination.connect().catch((error: unknown) => {
    throw unreachable('REDIS_URL', where, error)
  })
  facts.push(['Coordination', where])
  for (const text of await coordination.warnings()) {
    log.warn({ setting: 'REDIS_URL' }, text)
    facts.push(['Warning', text])
  }
  return coordination
}

/** A single node works without Redis, so a failure to start the private one is only logged. */
async function openPrivateRedis({ config, directory, log, undo }: StoresOptions): Promise<string | undefined> {
  const binary = config.REDIS_PRIVATE ? findRedisServer(config.PATH) : undefined
  if (binary === undefined) return undefined
  try {
    const redis = await startPrivateRedis({ dataDirectory: directory, binary, log: log.child({ part: 'redis' }) })
    undo.add('private Redis', () => redis.stop())
    return redis.url
  } catch (error) {
    log.warn({ error, binary }, 'the private Redis could not be started; this node continues without it')
    return undefined
  }
}

/**
 * Where the job queues are stored.
 * @throws Error when the setting requires a Redis and there is none
 */
export function jobStore(config: Config, database: Database, coordination: Coordination): StoreChoice {
  const redis = coordination instanceof RedisCoordination ? coordination.url : undefined
  const kind = config.JOBS_BACKEND ?? (redis === undefined ? 'postgres' : 'redis')
  if (kind === 'postgres') return { kind, url: database.url }
  if (redis === undefined) throw new Error('JOBS_BACKEND is redis, but there is no Redis: set REDIS_URL')
  return { kind, url: redis }
}
