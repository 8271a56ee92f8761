import {
  certificateFiles,
  ClusterActors,
  LocalActors,
  RedisLeaseStore,
  systemClock,
  tcpTransport,
  type ActorHost,
  type Actors,
} from '../../actors/index.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/log.ts'
import { redisClient } from '../core/redis-client.ts'
import { turnCodec } from './turn-codec.ts'

/** The settings of a node in a cluster, by their names in the configuration. */
export interface ClusterSettings {
  readonly REDIS_URL: string | undefined
  readonly CLUSTER_HOST: string
  readonly CLUSTER_PORT: number
  readonly CLUSTER_ADDRESS: string | undefined
  readonly CLUSTER_SECRET: string | undefined
  /** Paths of files. All three or none are set. */
  readonly CLUSTER_CERT: string | undefined
  readonly CLUSTER_KEY: string | undefined
  readonly CLUSTER_CA: string | undefined
}

export interface DriverOptions {
  readonly config: ClusterSettings
  readonly host: ActorHost
  readonly clock: Clock
  readonly log: Logger
  /** Authenticates links when the configuration has no cluster secret. The same on all nodes. */
  readonly secret: string
  /** Called when another node has died. */
  readonly onNodeLost: () => void
}

export interface Driver {
  readonly actors: Actors
  /** Resolves when commands can run. @throws Error when the port for links is in use */
  readonly ready: Promise<void>
}

/** Runs actors in this process or, with `REDIS_URL`, shares them with the other nodes. */
export function actorDriver({ config, host, clock, log, onNodeLost, secret }: DriverOptions): Driver {
  const { REDIS_URL: url } = config
  if (url === undefined) {
    const actors = new LocalActors({
      host,
      monotonic: () => clock.monotonic(),
      onError: (actor, error) => log.error({ actor, error }, 'cannot activate an actor'),
    })
    return { actors, ready: Promise.resolve() }
  }
  const started = ClusterActors.start({
    host,
    codec: turnCodec,
    clock: systemClock(() => clock.monotonic()),
    store: new RedisLeaseStore({
      url: (options) => redisClient(url, options),
      onError: (error) => log.debug({ error: error.message }, 'redis of the actors'),
    }),
    transport: tcpTransport({
      host: config.CLUSTER_HOST,
      port: config.CLUSTER_PORT,
      ...(config.CLUSTER_ADDRESS === undefined ? {} : { advertise: config.CLUSTER_ADDRESS }),
      ...tlsOf(config, log),
      onError: (error) => log.warn({ error }, 'a link to another node failed'),
    }),
    secret: config.CLUSTER_SECRET ?? secret,
    onError: (error, actor) => log.warn({ actor, error }, 'actors'),
    onNodeLost,
  })
  return deferred(started)
}

function tlsOf({ CLUSTER_CA: ca, CLUSTER_CERT: cert, CLUSTER_KEY: key }: ClusterSettings, log: Logger) {
  if (ca === undefined || cert === undefined || key === undefined) return {}
  const failed = (error: unknown) =>
    log.error({ error }, 'cannot use the new certificates for links; the old ones stay in use')
  try {
    return { tls: certificateFiles({ ca, cert, key }, failed) }
  } catch (error) {
    const message = `CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA cannot be used: ${(error as Error).message}`
    throw new Error(message, { cause: error })
  }
}

/** Commands that come before the actors have started wait for the start. */
function deferred(started: Promise<ClusterActors>): Driver {
  const empty = new LocalActors({ host: nobody, monotonic: () => 0 })
  let running: ClusterActors | undefined
  const ready = (async () => {
    running = await started
    await empty.close(0)
  })()
  // A failed start is reported by `ready` and by every command.
  ready.catch(() => undefined)
  return {
    ready,
    actors: {
      run: async (command) => (running ?? (await started)).run(command),
      stats: () => (running ?? empty).stats(),
      owners: async () => (await started).owners(),
      leave: async (withinMs) => (await started).leave(withinMs),
      close: async (withinMs) => (await started).close(withinMs),
    },
  }
}

const nobody: ActorHost = {
  activate: () => Promise.reject(new Error('the actors have not started')),
  execute: () => Promise.reject(new Error('the actors have not started')),
}
