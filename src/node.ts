import type { Config } from './config.ts'
import { InProcessCoordination } from './coordination/in-process.ts'
import { RedisCoordination } from './coordination/redis.ts'
import type { Coordination } from './coordination/coordination.ts'
import { systemClock, type Clock } from './core/clock.ts'
import type { Logger } from './core/log.ts'
import type { Registry } from './core/operation.ts'
import { Database } from './db/database.ts'
import { entities } from './entities.ts'
import type { HttpServer } from './http/server.ts'
import type { Gateway } from './realtime/gateway.ts'
import { startAdminServer } from './http/admin-server.ts'
import { createMetrics } from './http/metrics.ts'
import { watchParts } from './metrics.ts'
import { createGateway, createHttpServer } from './server.ts'
import { compose, type Composition, type Foundation } from './services.ts'
import { openDataDirectory, type DataDirectory } from './setup/data-directory.ts'
import { startEmbeddedPostgres } from './setup/embedded-postgres.ts'
import { VERSION } from './version.ts'

/** A running node of Crier. */
export interface Node {
  readonly url: string
  readonly port: number
  /** Of the admin port. */
  readonly adminUrl: string
  readonly composition: Composition
  readonly foundation: Foundation
  /** What the banner tells. */
  readonly facts: readonly (readonly [string, string])[]
  /** Unready, stop listening, finish what is under way, close everything; at most 10 s. */
  stop(): Promise<void>
}

/** What a test puts in the place of the real thing. */
export interface NodeOverrides {
  readonly clock?: Clock
  /** Other operations than those of the service. */
  readonly registry?: Registry
  readonly adapt?: (composition: Composition) => Composition
}

/** Undoes what was started, last first; one failure does not keep the rest from closing. */
class Undo {
  readonly #steps: { readonly name: string; readonly run: () => Promise<void> | void }[] = []
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  add(name: string, run: () => Promise<void> | void): void {
    this.#steps.push({ name, run })
  }

  async all(): Promise<void> {
    for (const { name, run } of this.#steps.splice(0).reverse()) {
      try {
        await run()
      } catch (error) {
        this.#log.error({ error, step: name }, 'shutting down: a step failed')
      }
    }
  }
}

/**
 * Starts everything that the configuration asks for, in the order of needs.
 * @throws Error that says what to change, after undoing what was started
 */
export async function startNode(config: Config, log: Logger, overrides: NodeOverrides = {}): Promise<Node> {
  const undo = new Undo(log)
  try {
    return await start(config, log, undo, overrides)
  } catch (error) {
    await undo.all()
    throw error
  }
}

async function start(config: Config, log: Logger, undo: Undo, overrides: NodeOverrides): Promise<Node> {
  const facts: [string, string][] = []
  const directory = await openDataDirectory(config.DATA_DIR)
  undo.add('data folder', () => directory.close())
  const database = await openDatabase(config, directory, log, undo, facts)
  const coordination = await openCoordination(config, log, undo, facts)
  const foundation: Foundation = {
    config,
    log,
    clock: overrides.clock ?? systemClock,
    database,
    coordination,
    metrics: createMetrics(),
    version: VERSION,
    secret: config.JWT_SECRET ?? directory.secret('jwt-secret'),
  }
  const composed = compose(foundation, overrides.registry)
  const composition = overrides.adapt?.(composed) ?? composed
  undo.add('services', () => composition.close())
  await composition.services.switches.refresh()
  await composition.people.start()
  watchParts(foundation, composition)
  const server = createHttpServer(foundation, composition)
  const gateway = createGateway(foundation, composition, server)
  const port = await listen(server, gateway, config, undo)
  const url = config.PUBLIC_URL.replace(/:0$/, `:${port}`)
  facts.unshift(['API', `${url}/api`], ['Documentation', `${url}/docs`])
  facts.push(['Mails', composition.people.postman.destination])
  const admin = await startAdminServer({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics: foundation.metrics,
    version: VERSION,
  })
  undo.add('admin port', () => admin.close())
  facts.push(['Metrics', `${admin.url}/metrics`])
  facts.push(['Data', directory.path])
  return {
    url,
    port,
    adminUrl: admin.url,
    composition,
    foundation,
    facts,
    stop: async () => {
      composition.services.health.drain()
      await undo.all()
    },
  }
}

async function openDatabase(
  config: Config,
  directory: DataDirectory,
  log: Logger,
  undo: Undo,
  facts: [string, string][],
): Promise<Database> {
  let url = config.DATABASE_URL
  if (url === undefined) {
    const postgres = await startEmbeddedPostgres({ dataDirectory: directory, log: log.child({ part: 'postgres' }) })
    undo.add('embedded PostgreSQL', () => postgres.stop())
    url = postgres.url
    facts.push(['Database', `embedded PostgreSQL ${postgres.version}`])
  } else {
    facts.push(['Database', `PostgreSQL at ${new URL(url).host}`])
  }
  const database = await Database.connect({ url, poolSize: config.DATABASE_POOL, entities, log })
  undo.add('database', () => database.close())
  const ran = await database.migrate()
  if (ran.length > 0) log.info({ migrations: ran }, 'the database schema was brought up to date')
  return database
}

async function openCoordination(
  config: Config,
  log: Logger,
  undo: Undo,
  facts: [string, string][],
): Promise<Coordination> {
  if (config.REDIS_URL === undefined) {
    const coordination = new InProcessCoordination(log)
    facts.push(['Coordination', 'in-process (single node; set REDIS_URL for several)'])
    return coordination
  }
  const coordination = new RedisCoordination(config.REDIS_URL, log.child({ part: 'redis' }))
  undo.add('redis', () => coordination.close())
  await coordination.connect()
  facts.push(['Coordination', `Redis at ${new URL(config.REDIS_URL).host}`])
  return coordination
}

async function listen(server: HttpServer, gateway: Gateway, config: Config, undo: Undo): Promise<number> {
  server.finishRoutes()
  const port = await server.listen(config.HOST, config.PORT)
  undo.add('http connections', () => server.close())
  undo.add('sockets', () => gateway.close())
  undo.add('http requests', () => server.drain(5_000))
  return port
}
