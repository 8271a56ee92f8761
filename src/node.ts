import type { Config } from './config.ts'
import { InProcessCoordination } from './coordination/in-process.ts'
import { RedisCoordination } from './coordination/redis.ts'
import type { Coordination } from './coordination/coordination.ts'
import { systemClock, type Clock } from './core/clock.ts'
import type { Logger } from './core/log.ts'
import type { JobRegistry } from './core/job.ts'
import type { Registry } from './core/operation.ts'
import { Database } from './db/database.ts'
import { BOARD_PATH } from './jobs/board.ts'
import type { JobRuntime, JobTimes } from './jobs/runtime.ts'
import type { StoreChoice } from './jobs/stores.ts'
import { entities } from './entities.ts'
import type { HttpServer } from './http/server.ts'
import type { Gateway } from './realtime/gateway.ts'
import { startAdminServer } from './http/admin-server.ts'
import { createMetrics } from './http/metrics.ts'
import { actorsPage } from './actors-page.ts'
import { watchParts } from './metrics.ts'
import { startJobs } from './node-jobs.ts'
import { startMedia, type NodeMedia } from './node-media.ts'
import { createGateway, createHttpServer } from './server.ts'
import { compose, type Composition, type Foundation } from './services.ts'
import { openDataDirectory, type DataDirectory } from './setup/data-directory.ts'
import { startEmbeddedPostgres } from './setup/embedded-postgres.ts'
import type { FfmpegSearch } from './setup/ffmpeg.ts'
import { findRedisServer, startPrivateRedis } from './setup/redis-server.ts'
import { Sweeper } from './streams/link/sweeper.ts'
import { VERSION } from './version.ts'

/** A running node of Crier. */
export interface Node {
  readonly url: string
  readonly port: number
  /** Of the admin port. */
  readonly adminUrl: string
  readonly composition: Composition
  /** On a node with the role media. */
  readonly media: NodeMedia | undefined
  /** On a node with the role jobs. */
  readonly jobs: JobRuntime | undefined
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
  readonly jobs?: JobRegistry
  readonly jobTimes?: Partial<JobTimes>
  readonly adapt?: (composition: Composition) => Composition
}

/** How long it may take to give the actors of this node to others. */
const HAND_OVER_MS = 1_000

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
    for (const { name, run } of this.#steps.splice(0).toReversed()) {
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
  const coordination = await openCoordination(config, directory, log, undo, facts)
  const foundation: Foundation = {
    config,
    log,
    clock: overrides.clock ?? systemClock,
    database,
    coordination,
    jobStore: jobStore(config, database, coordination),
    metrics: createMetrics(),
    version: VERSION,
    secret: config.JWT_SECRET ?? directory.secret('jwt-secret'),
    scratch: directory.scratch('work', config.WORK_DIR),
  }
  const composed = compose(foundation, overrides.registry, overrides.jobs)
  const composition = overrides.adapt?.(composed) ?? composed
  undo.add('services', () => composition.close())
  await composition.ready
  await composition.services.switches.refresh()
  await composition.people.start()
  watchParts(foundation, composition)
  const jobs = config.ROLES.has('jobs') ? startJobs(foundation, composition, overrides.jobTimes) : undefined
  if (jobs !== undefined) undo.add('jobs', () => jobs.close())
  const media = await openMedia(foundation, composition, undo, facts)
  const front = createHttpServer(foundation, composition)
  const gateway = createGateway(foundation, composition, front)
  const port = await listen(front.server, gateway, config, undo)
  const url = config.PUBLIC_URL.replace(/:0$/, `:${port}`)
  facts.unshift(['API', `${url}/api`], ['Documentation', `${url}/docs`])
  facts.push(['Mails', composition.services.mailer.destination])
  const admin = await startAdminServer({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics: foundation.metrics,
    version: VERSION,
    pages: { '/actors': () => actorsPage(composition.actors) },
    queues: jobs && { path: BOARD_PATH, open: () => jobs.board() },
  })
  undo.add('admin port', () => admin.close())
  facts.push(['Metrics', `${admin.url}/metrics`])
  facts.push(['Data', directory.path])
  return {
    url,
    port,
    adminUrl: admin.url,
    composition,
    media,
    jobs,
    foundation,
    facts,
    stop: async () => {
      composition.services.health.drain()
      await leave(composition, log)
      await undo.all()
    },
  }
}

/** Actors go first: whatever keeps this node from ending in time, the others have them. */
async function leave({ actors }: Composition, log: Logger): Promise<void> {
  const { cluster } = actors.stats()
  if (cluster === undefined) return
  const began = performance.now()
  await actors.leave(HAND_OVER_MS)
  const kept = actors.stats().cluster?.owned
  log.info({ owned: cluster.owned, kept, ms: Math.round(performance.now() - began) }, 'actors were handed over')
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
  directory: DataDirectory,
  log: Logger,
  undo: Undo,
  facts: [string, string][],
): Promise<Coordination> {
  const url = config.REDIS_URL ?? (await openPrivateRedis(config, directory, log, undo))
  if (url === undefined) {
    facts.push(['Coordination', 'in-process (single node; set REDIS_URL for several)'])
    return new InProcessCoordination(log)
  }
  const coordination = new RedisCoordination(url, log.child({ part: 'redis' }))
  undo.add('redis', () => coordination.close())
  await coordination.connect()
  const where = config.REDIS_URL === undefined ? 'a private Redis' : `Redis at ${new URL(url).host}`
  facts.push(['Coordination', where])
  return coordination
}

function jobStore(config: Config, database: Database, coordination: Coordination): StoreChoice {
  const redis = coordination instanceof RedisCoordination ? coordination.url : undefined
  const kind = config.JOBS_BACKEND ?? (redis === undefined ? 'postgres' : 'redis')
  if (kind === 'postgres') return { kind, url: database.url }
  if (redis === undefined) throw new Error('JOBS_BACKEND is redis, but there is no Redis: set REDIS_URL')
  return { kind, url: redis }
}

/** A single node works without: one that cannot be started is said, and done without. */
async function openPrivateRedis(
  config: Config,
  directory: DataDirectory,
  log: Logger,
  undo: Undo,
): Promise<string | undefined> {
  const binary = config.REDIS_PRIVATE ? findRedisServer(config.PATH) : undefined
  if (binary === undefined) return undefined
  try {
    const redis = await startPrivateRedis({ dataDirectory: directory, binary, log: log.child({ part: 'redis' }) })
    undo.add('private Redis', () => redis.stop())
    return redis.url
  } catch (error) {
    log.warn({ error, binary }, 'the private Redis could not be started; this node goes on without')
    return undefined
  }
}

async function openMedia(
  foundation: Foundation,
  composition: Composition,
  undo: Undo,
  facts: [string, string][],
): Promise<NodeMedia | undefined> {
  const { clock, config, database, log } = foundation
  const { mediaNodes, turns } = composition.services
  if (config.ROLES.has('jobs') || config.ROLES.has('media')) {
    const sweeper = new Sweeper({ sql: database, clock, turns, media: mediaNodes, log: log.child({ part: 'streams' }) })
    undo.add('stream sweeper', () => sweeper.close())
  }
  if (!config.ROLES.has('media')) return undefined
  const media = await startMedia(foundation, composition)
  undo.add('media', () => media.close())
  facts.push(['RTMP', config.PUBLIC_RTMP_URL.replace(/:0(?=\/)/, `:${media.rtmpPort}`)])
  const whip = media.whipPort === null ? 'off: the log says why' : `media by UDP port ${media.whipPort}`
  facts.push(['WHIP', whip])
  facts.push(...ffmpegFacts(media.ffmpeg))
  return media
}

/** What the banner says of ffmpeg: which one, and what to do when it is old or missing. */
function ffmpegFacts(found: FfmpegSearch): [string, string][] {
  if (found.ffmpeg === undefined) return [['ffmpeg', `missing: ${found.why}`]]
  const { path, version, warnings } = found.ffmpeg
  return [['ffmpeg', `${version} (${path})`], ...warnings.map((warning): [string, string] => ['Warning', warning])]
}

async function listen(server: HttpServer, gateway: Gateway, config: Config, undo: Undo): Promise<number> {
  server.finishRoutes()
  const port = await server.listen(config.HOST, config.PORT)
  undo.add('http connections', () => server.close())
  undo.add('sockets', () => gateway.close())
  undo.add('http requests', () => server.drain(5_000))
  return port
}
