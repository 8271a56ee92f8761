import { readFileSync } from 'node:fs'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { redisUrl } from '../tools/redis-url.ts'

/** A connection to one Redis, to the primary that sentinels name, or to a cluster. All have the same commands. */
export type RedisClient = Redis | Cluster

/**
 * Opens every connection of Crier to Redis.
 * @param url the setting `REDIS_URL`; see `redisUrl` for its forms
 * @throws Error that says what to change in it
 */
export function redisClient(url: string, options: RedisOptions): RedisClient {
  const { ca, database, kind, password, primary, servers, tls, username } = redisUrl(url)
  const all: RedisOptions = {
    ...options,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: ca === undefined ? {} : { ca: authorities(ca) } }),
    // A primary that was demoted. The next connection finds the new one.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  }
  if (kind === 'cluster') {
    const { enableOfflineQueue = true, lazyConnect = false, retryStrategy } = options
    return new Cluster([...servers], {
      redisOptions: all,
      enableOfflineQueue,
      lazyConnect,
      // Certificates name hosts, so hosts are not replaced by addresses.
      ...(tls && { dnsLookup: (address, callback) => callback(null, address) }),
      ...(retryStrategy && { clusterRetryStrategy: (tries: number) => retryStrategy(tries) ?? null }),
    })
  }
  if (kind === 'sentinel') {
    return new Redis({
      ...all,
      db: database,
      sentinels: [...servers],
      name: primary,
      // Without `failoverDetector`: when it acts during a reconnection, ioredis ends the connection for good.
      ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: all.tls }),
    })
  }
  return ca === undefined ? new Redis(url, all) : new Redis(url.replace(/\?.*$/, ''), all)
}

function authorities(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error(`ca=${path} cannot be read. Name a file that this user can read`, { cause })
  }
}
