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
import { turnCodec } from './turn-codec.ts'

/** The settings of a node among others, by their names in the configuration. */
export interface ClusterSettings {
  readonly REDIS_URL: string | undefined
  readonly CLUSTER_HOST: string
  readonly CLUSTER_PORT: number
  readonly CLUSTER_ADDRESS: string | undefined
  readonly CLUSTER_SECRET: string | undefined
  /** Paths; all three or none. */
  readonly CLUSTER_CERT: string | undefined
  readonly CLUSTER_KEY: string | undefined
  readonly CLUSTER_CA: string | undefined
}

export interface DriverOptions {
  readonly config: ClusterSettings
  readonly host: ActorHost
  readonly clock: Clock
  readonly log: Logger
  /** Shared by all nodes, where the configuration has no cluster secret. */
  readonly secret: string
  /** Called when another node has died. */
  readonly onNodeLost: () => void
}

export interface Driver {
  readonly actors: Actors
  /** Resolves when commands can be run. @throws Error when the port of the links is taken */
  readonly ready: Promise<void>
}

/** Actors of this process alone, or, where a Redis is configured, shared with the other nodes on it. */
export function actorDriver({ config, host, clock, log, onNodeLost, secret }: DriverOptions): Driver {
  if (config.REDIS_URL === undefined) {
    const actors = new LocalActors({
      host,
      monotonic: () => clock.monotonic(),
      onError: (actor, error) => log.error({ actor, error }, 'an actor could not be activated'),
    })
    return { actors, ready: Promise.resolve() }
  }
  const started = ClusterActors.start({
    host,
    codec: turnCodec,
    clock: systemClock(() => clock.monotonic()),
    store: new RedisLeaseStore({
      url: config.REDIS_URL,
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
  const failed = (error: unknown) => log.error({ error }, 'new certificates of links cannot be used; the old ones stay')
  try {
    return { tls: certificateFiles({ ca, cert, key }, failed) }
  } catch (error) {
    const message = `CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA cannot be used: ${(error as Error).message}`
    throw new Error(message, { cause: error })
  }
}

/** Actors that are asked before they have started wait for that. */
function deferred(started: Promise<ClusterActors>): Driver {
  const empty = new LocalActors({ host: nobody, monotonic: () => 0 })
  let running: ClusterActors | undefined
  const ready = (async () => {
    running = await started
    await empty.close(0)
  })()
  // Whoever waits for `ready` hears of it; whoever does not hears of it with each command.
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
