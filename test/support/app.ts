import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, type Config } from '../../src/config/config.ts'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { PasswordHasher } from '../../src/domains/identity/auth/passwords.ts'
import { startNode, type Node, type NodeOverrides } from '../../src/server/node.ts'
import type { Composition } from '../../src/server/compose.ts'
import type { Database } from '../../src/db/database.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { missingTools, toolPath } from './tools.ts'
import { Outbox } from './outbox.ts'
import { createDatabase } from './postgres.ts'
import { send, type Reply, type SendOptions } from './send.ts'

/** Most users of tests have the same password, and it takes 35 ms of a processor to hash it. */
const hashes = new Map<string, Promise<string>>()
type Hash = (this: PasswordHasher, password: string) => Promise<string>
const hash: Hash = Reflect.get(PasswordHasher.prototype, 'hash')
PasswordHasher.prototype.hash = function hashOnce(password) {
  const known = hashes.get(password)
  if (known !== undefined) return known
  const made = hash.call(this, password)
  hashes.set(password, made)
  made.catch(() => hashes.delete(password))
  return made
}

export interface AppOptions {
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>
  /** With a ManualClock the test advances the time. */
  readonly clock?: Clock
  readonly redisUrl?: string
  /** Enforce the rate limits; off when absent. */
  readonly rateLimits?: boolean
  /** Run the media process too; off when absent. */
  readonly media?: boolean
  /** The database of another node, which this one shares. */
  readonly databaseUrl?: string
  /** The data folder of a stopped node, for tests of restarts. */
  readonly dataDir?: string
  readonly registry?: NodeOverrides['registry']
  readonly adapt?: NodeOverrides['adapt']
  readonly jobs?: NodeOverrides['jobs']
  readonly jobTimes?: NodeOverrides['jobTimes']
}

/** A Crier node in this process, with its own database and folder. */
export interface App {
  readonly url: string
  readonly port: number
  readonly config: Config
  /** The clock of the node. */
  readonly clock: Clock
  readonly node: Node
  readonly composition: Composition
  readonly database: Database
  readonly databaseUrl: string
  readonly dataDir: string
  /** The mails that the node sent. */
  readonly outbox: Outbox
  /** The log so far, one object per line. Nothing is printed. */
  readonly logs: readonly LogLine[]
  /** Sends a request; see `send`. */
  send(route: string, options?: SendOptions): Promise<Reply>
  /** Shuts down as on SIGTERM. Removes the folder and the database unless they were passed in. */
  stop(): Promise<void>
}

export interface LogLine {
  readonly level: number
  readonly msg?: string
  readonly [field: string]: unknown
}

/** Starts a real node with `startNode`. It checks every reply against its declaration. */
export async function startApp(options: AppOptions = {}): Promise<App> {
  const created = options.databaseUrl === undefined ? await createDatabase() : undefined
  const databaseUrl = options.databaseUrl ?? created?.url ?? ''
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'crier-test-')))
  const logs: LogLine[] = []
  const cleanUp = async () => {
    await created?.drop()
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const { node, config } = await start(options, { DATABASE_URL: databaseUrl, DATA_DIR: dataDir }, logs)
    return {
      url: node.url,
      port: node.port,
      config,
      clock: options.clock ?? systemClock,
      node,
      composition: node.composition,
      database: node.resources.database,
      databaseUrl,
      dataDir,
      outbox: new Outbox(join(dataDir, 'outbox')),
      logs,
      send: (route, sendOptions) => send(node.url, route, sendOptions),
      stop: async () => {
        await node.stop()
        await cleanUp()
      },
    }
  } catch (error) {
    await cleanUp()
    throw error
  }
}

/** With several nodes, only the first runs jobs, because a mail is written to the folder of the node that sends it. */
function rolesOf({ databaseUrl, media, redisUrl }: AppOptions): string {
  const joins = databaseUrl !== undefined && redisUrl !== undefined
  return ['api', ...(joins ? [] : ['jobs']), ...(media ? ['media'] : [])].join(',')
}

/** That of `npm test`, so that nothing is downloaded, unless a test has another PATH. */
function ffmpegPath(env: AppOptions['env']): string | undefined {
  return env?.['PATH'] === undefined && !missingTools().includes('ffmpeg') ? toolPath('ffmpeg').command : undefined
}

/** Chooses the ports beforehand, because URLs contain them. Retries when another process takes one first. */
async function start(
  options: AppOptions,
  needed: Record<string, string>,
  logs: LogLine[],
): Promise<{ node: Node; config: Config }> {
  const log = createLog({
    level: options.env?.['LOG_LEVEL'] ?? 'info',
    destination: { write: (line: string) => void logs.push(JSON.parse(line) as LogLine) },
  })
  const overrides: NodeOverrides = {
    ...(options.clock && { clock: options.clock }),
    ...(options.registry && { registry: options.registry }),
    ...(options.adapt && { adapt: options.adapt }),
    ...(options.jobs && { jobs: options.jobs }),
    ...(options.jobTimes && { jobTimes: options.jobTimes }),
  }
  for (let tries = 1; ; tries += 1) {
    const config = loadConfig({
      PATH: process.env['PATH'],
      FFMPEG_PATH: ffmpegPath(options.env),
      HOST: '127.0.0.1',
      RTMP_HOST: '127.0.0.1',
      PORT: String(await freeLoopbackPort()),
      RTMP_PORT: String(await freeLoopbackPort()),
      WHIP_PORT: '0',
      ADMIN_PORT: '0',
      DRAIN_SECONDS: '0',
      CHECK_REPLIES: '1',
      RATE_LIMITS: options.rateLimits ? '1' : '0',
      ROLES: rolesOf(options),
      REDIS_PRIVATE: '0',
      SANDBOX: '1',
      // Readings would use up the faults and budgets of other tests.
      ANALYTICS_SCHEDULE: '0',
      SANDBOX_PORT: '0',
      DATABASE_POOL: '5',
      // Tests wait for media work, so it must not run at a lower priority than other tests.
      MEDIA_NICENESS: '0',
      // Nodes on one Redis prove with this shared secret that they belong together.
      ...(options.redisUrl && { REDIS_URL: options.redisUrl, JWT_SECRET: 'what all nodes of a test have in common' }),
      ...needed,
      ...options.env,
    })
    try {
      return { node: await startNode(config, log, overrides), config }
    } catch (error) {
      if (tries === 3 || !/port \d+ .*is taken|EADDRINUSE/.test((error as Error).message)) throw error
    }
  }
}
