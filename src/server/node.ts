import { setTimeout as delay } from 'node:timers/promises'
import type { ListenSettings } from '../../media/listen.ts'
import type { Config } from '../config/config.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import type { Logger } from '../core/log.ts'
import type { AnyJob } from '../core/job.ts'
import type { Registry } from '../core/operation.ts'
import { BOARD_PATH } from '../jobs/board.ts'
import type { JobRuntime, JobTimes } from '../jobs/runtime.ts'
import { drainMs } from './draining.ts'
import type { HttpServer } from '../http/server.ts'
import type { Gateway } from '../realtime/gateway.ts'
import type { HealthService } from '../domains/system/health/service.ts'
import { startAdminServer, type AdminPage } from '../http/admin-server.ts'
import { createMetrics } from '../http/metrics.ts'
import { actorsPage } from '../pages/actors-page.ts'
import { watchParts } from '../metrics/metrics.ts'
import { startJobs } from './node-jobs.ts'
import { startMedia, type NodeMedia } from './node-media.ts'
import { jobStore, openCoordination, openDatabase } from './node-stores.ts'
import { createGateway, createHttpServer } from './front-end.ts'
import { compose, type Composition } from './compose.ts'
import type { NodeResources } from './foundation.ts'
import { openDataDirectory } from '../setup/data-directory.ts'
import { findFfmpeg, type FfmpegSearch } from '../setup/ffmpeg.ts'
import { ffmpegFromPackages } from '../setup/ffmpeg-packages.ts'
import { Sweeper } from '../domains/live/media-link/index.ts'
import { checkOutside } from './start-checks.ts'
import { openMailer } from './mailer.ts'
import { describeStorage, openStorage } from '../storage/compose.ts'
import { explainListening } from './explain-listening.ts'
import { Undo } from './undo.ts'
import { withSandbox } from './node-sandbox.ts'
import { VERSION } from '../config/version.ts'

/** A running node of Crier. */
export interface Node {
  readonly url: string
  readonly port: number
  /** The admin port's address. */
  readonly adminUrl: string
  readonly composition: Composition
  /** Only on a node with the role media. */
  readonly media: NodeMedia | undefined
  /** Only on a node with the role jobs. */
  readonly jobs: JobRuntime | undefined
  readonly resources: NodeResources
  /** The lines of the startup banner. */
  readonly facts: readonly (readonly [string, string])[]
  /**
   * Reports unready, serves until load balancers have noticed, stops listening, finishes current work and closes
   * everything. Takes at most 10 s unless DRAIN_SECONDS is longer.
   */
  stop(): Promise<void>
}

/** Replacements for tests. */
export interface NodeOverrides {
  readonly clock?: Clock
  /** Operations to serve instead of those of the service. */
  readonly registry?: Registry
  readonly jobs?: readonly AnyJob[]
  readonly jobTimes?: Partial<JobTimes>
  readonly adapt?: (composition: Composition) => Composition
}

/** How long the handover of this node's actors may take. */
const HAND_OVER_MS = 1_000

/**
 * Starts everything that the configuration asks for, in the order of dependencies.
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

async function start(given: Config, log: Logger, undo: Undo, overrides: NodeOverrides): Promise<Node> {
  const facts: [string, string][] = []
  const clock = overrides.clock ?? systemClock
  const config = await withSandbox(given, { clock, facts, log, undo })
  const directory = await openDataDirectory(config.DATA_DIR)
  undo.add('data folder', () => directory.close())
  const stores = { config, directory, log, undo, facts }
  const database = await openDatabase(stores)
  const coordination = await openCoordination(stores)
  const mailer = await openMailer(config, clock)
  undo.add('mail', () => mailer.close())
  const resources: NodeResources = {
    config,
    log,
    clock,
    database,
    coordination,
    jobStore: jobStore(config, database, coordination),
    storage: await openStorage(config, clock),
    mailer,
    metrics: createMetrics(),
    version: VERSION,
    secret: config.JWT_SECRET ?? directory.secret('jwt-secret'),
    scratch: directory.scratch('work', config.WORK_DIR),
    ffmpeg: await ffmpegOf(config, log),
  }
  const composed = compose(resources, overrides.registry, overrides.jobs)
  const composition = overrides.adapt?.(composed) ?? composed
  undo.add('services', () => composition.close())
  const outside = checkOutside(config, composition.services, log)
  await explainListening(composition.ready, CLUSTER, config.CLUSTER_HOST, config.CLUSTER_PORT)
  await composition.start()
  watchParts(resources, composition)
  const jobs = config.ROLES.has('jobs') ? startJobs(resources, composition, overrides.jobTimes) : undefined
  if (jobs !== undefined) undo.add('jobs', () => jobs.close())
  const media = await openMedia(resources, composition, undo, facts)
  if (resources.ffmpeg !== undefined) facts.push(...ffmpegFacts(resources.ffmpeg))
  const front = createHttpServer(resources, composition)
  const gateway = createGateway(resources, composition, front)
  const port = await listen(front.server, gateway, config, undo)
  const url = config.PUBLIC_URL.replace(/:0$/, `:${port}`)
  facts.unshift(['API', `${url}/api`], ['Documentation', `${url}/docs`])
  facts.push(['Files', describeStorage(config)], ['Mails', composition.services.mailer.destination])
  const starting = startAdminServer({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    access: { token: config.ADMIN_TOKEN, names: config.ADMIN_NAMES },
    metrics: resources.metrics,
    version: VERSION,
    pages: {
      '/ready': () => readyPage(composition.services.health),
      '/actors': async () => ({ body: await actorsPage(composition.actors) }),
    },
    queues: jobs && { path: BOARD_PATH, open: () => jobs.board() },
  })
  const admin = await explainListening(starting, ADMIN, config.ADMIN_HOST, config.ADMIN_PORT ?? 0)
  undo.add('admin port', () => admin.close())
  facts.push(['Metrics', `${admin.url}/metrics`])
  facts.push(['Data', directory.path])
  facts.push(...(await outside).map((warning): [string, string] => ['Warning', warning]))
  return {
    url,
    port,
    adminUrl: admin.url,
    composition,
    media,
    jobs,
    resources,
    facts,
    stop: async () => {
      composition.services.health.drain()
      front.server.endConnections()
      // Jobs need not wait for a load balancer.
      const jobsClosed = jobs?.close()
      await delay(drainMs(config, composition.actors))
      await leave(composition, log)
      await jobsClosed
      await undo.all()
    },
  }
}

/** Readiness with the details of all probes, for operators. */
async function readyPage(health: HealthService): Promise<AdminPage> {
  const report = await health.readiness()
  return { status: report.ready ? 200 : 503, body: report }
}

/** Actors are handed over first, so that other nodes have them even if this node does not stop in time. */
async function leave({ actors }: Composition, log: Logger): Promise<void> {
  const { cluster } = actors.stats()
  if (cluster === undefined) return
  const began = performance.now()
  await actors.leave(HAND_OVER_MS)
  const kept = actors.stats().cluster?.owned
  log.info({ owned: cluster.owned, kept, ms: Math.round(performance.now() - began) }, 'actors handed over')
}

async function openMedia(
  resources: NodeResources,
  composition: Composition,
  undo: Undo,
  facts: [string, string][],
): Promise<NodeMedia | undefined> {
  const { clock, config, database, log } = resources
  const { mediaNodes, turns } = composition.services
  if (config.ROLES.has('jobs') || config.ROLES.has('media')) {
    const sweeper = new Sweeper({
      database,
      clock,
      turns,
      media: mediaNodes.directory,
      log: log.child({ part: 'streams' }),
    })
    undo.add('stream sweeper', () => sweeper.close())
  }
  if (!config.ROLES.has('media')) return undefined
  const media = await startMedia(resources, composition)
  undo.add('media', () => media.close())
  facts.push(['RTMP', config.PUBLIC_RTMP_URL.replace(/:0(?=\/)/, `:${media.rtmpPort}`)])
  const whip = media.whipPort === null ? 'off (see the log)' : `media over UDP port ${media.whipPort}`
  facts.push(['WHIP', whip])
  return media
}

/** The ffmpeg of a node that processes media. Gets one from Debian's packages if the machine has none. */
async function ffmpegOf(config: Config, log: Logger): Promise<FfmpegSearch | undefined> {
  const { CACHE_DIR: cacheDir, FFMPEG_DOWNLOAD: mayDownload, FFMPEG_PATH, PATH, ROLES } = config
  if (!ROLES.has('jobs') && !ROLES.has('media')) return undefined
  const fromPackages = () => ffmpegFromPackages({ cacheDir, mayDownload, log: log.child({ part: 'ffmpeg' }) })
  const found = await findFfmpeg({ FFMPEG_PATH, PATH, fromPackages })
  if (found.ffmpeg === undefined) log.warn({ setting: 'FFMPEG_PATH' }, `no video and audio: ${found.why}`)
  return found
}

/** Banner lines about ffmpeg: path and version, and warnings if it is old or missing. */
function ffmpegFacts(found: FfmpegSearch): [string, string][] {
  if (found.ffmpeg === undefined) {
    const slates = found.forOwnPictures === undefined ? '' : ' Only slates are made, with the build of 2018 from npm.'
    return [['ffmpeg', `missing, so video and audio get 503: ${found.why}${slates}`]]
  }
  const { path, source, version, warnings } = found.ffmpeg
  const from = source === 'packages' ? ', unpacked from Debian’s packages' : ''
  return [
    ['ffmpeg', `${version} (${path}${from})`],
    ...warnings.map((warning): [string, string] => ['Warning', warning]),
  ]
}

async function listen(server: HttpServer, gateway: Gateway, config: Config, undo: Undo): Promise<number> {
  server.finishRoutes()
  const port = await explainListening(server.listen(config.HOST, config.PORT), HTTP, config.HOST, config.PORT)
  undo.add('http connections', () => server.close())
  undo.add('sockets', () => gateway.close())
  undo.add('http requests', () => server.drain(5_000))
  return port
}

const HTTP: ListenSettings = { port: 'PORT', host: 'HOST' }
const ADMIN: ListenSettings = { port: 'ADMIN_PORT', host: 'ADMIN_HOST' }
const CLUSTER: ListenSettings = { port: 'CLUSTER_PORT', host: 'CLUSTER_HOST' }
