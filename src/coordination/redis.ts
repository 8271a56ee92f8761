import { defineError } from '../core/error.ts'
import { secretToken } from '../tools/id.ts'
import type { Logger } from '../core/log.ts'
import { memoryWarnings } from './redis-memory.ts'
import { redisClient, type RedisClient } from '../core/redis-client.ts'
import { Listeners, type Coordination, type Listener } from './coordination.ts'

export const RedisUnavailable = defineError({
  code: 'redis_unavailable',
  status: 503,
  message: 'Redis does not respond. Try again in a few seconds.',
  cause: 'The Redis server is restarting or unreachable.',
  fix: 'Try again after Retry-After seconds.',
})

/** All notices match one Redis channel pattern, so that a node subscribes once. */
const PREFIX = 'crier:n:'

/** Tells the other nodes that notices of this one were lost. It is not the name of any notice. */
const LOST = `${PREFIX}!lost`

/** A connection on which a reply is late by this much is replaced: its server may hang or be unreachable. */
const SILENCE_MS = 4_000
/** How often a reply is asked for on the connection that otherwise only listens. */
const PING_MS = 2_000

/**
 * A connection that never runs a command late: commands are not queued while it is down, and not sent twice. The defaults
 * of ioredis would do both.
 */
export function redisConnection(url: string, log: Logger): RedisClient {
  const redis = redisClient(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    socketTimeout: SILENCE_MS,
    retryStrategy: (tries) => Math.min(2_000, 50 * 2 ** Math.min(tries, 6)),
    autoResubscribe: false,
    lazyConnect: true,
  })
  logOutages(redis, log)
  return redis
}

/** Logs one line when Redis becomes unreachable and one when it is back. */
function logOutages(redis: RedisClient, log: Logger): void {
  let away = false
  redis.on('error', (error: Error) => {
    if (!away) log.warn({ error: error.message }, 'redis is unreachable')
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info({}, 'redis is back')
    away = false
  })
}

/** The driver for several nodes: Redis pub/sub, with local delivery that does not depend on Redis. */
export class RedisCoordination implements Coordination {
  readonly kind = 'redis'
  /** For users that need their own connections. Contains a password. */
  readonly url: string
  readonly #commands: RedisClient
  readonly #subscriber: RedisClient
  readonly #listeners: Listeners
  readonly #recovered = new Set<() => void>()
  readonly #node = secretToken(9)
  readonly #log: Logger
  readonly #timer: NodeJS.Timeout
  #linked = false
  /** Whether notices could not be sent since the other nodes were told so. */
  #isLost = false
  #everLinked = false

  constructor(url: string, log: Logger) {
    this.url = url
    this.#log = log
    this.#listeners = new Listeners((error, channel) => log.error({ error, channel }, 'a listener failed'))
    this.#commands = redisConnection(url, log)
    this.#subscriber = redisConnection(url, log)
    this.#commands.on('ready', () => this.#reportLost())
    this.#subscriber.on('ready', () => void this.#subscribe())
    this.#subscriber.on('close', () => {
      this.#linked = false
    })
    this.#timer = setInterval(() => void this.#subscriber.ping().catch(() => undefined), PING_MS).unref()
    this.#subscriber.on('pmessage', (_pattern: string, channel: string, text: string) => this.#receive(channel, text))
  }

  /** Opens both connections. @throws the error of a connection that fails at the start */
  async connect(): Promise<void> {
    // The error of `connect` only says that the connection is closed.
    let cause: Error | undefined
    const remember = (error: Error) => (cause ??= error)
    // Either of the two can be the first to fail.
    const connections = [this.#commands, this.#subscriber]
    for (const connection of connections) connection.on('error', remember)
    try {
      await Promise.all(connections.map((connection) => connection.connect()))
    } catch (error) {
      throw cause ?? error
    } finally {
      for (const connection of connections) connection.off('error', remember)
    }
  }

  get linked(): boolean {
    return this.#linked && this.#commands.status === 'ready'
  }

  /** For other users of the same Redis (rate limits). */
  get commands(): RedisClient {
    return this.#commands
  }

  publish(channel: string, message: unknown): void {
    this.#listeners.call(channel, message)
    if (this.#commands.status !== 'ready') {
      this.#isLost = true
      return
    }
    this.#commands.publish(PREFIX + channel, JSON.stringify({ from: this.#node, message })).catch((error: Error) => {
      this.#isLost = true
      this.#log.warn({ error: error.message, channel }, 'a notice could not be sent to the other nodes')
    })
  }

  /** Another node whose own connections held does not know that it has missed notices of this one. */
  #reportLost(): void {
    if (!this.#isLost) return
    this.#isLost = false
    this.#commands.publish(LOST, JSON.stringify({ from: this.#node })).catch(() => (this.#isLost = true))
  }

  subscribe(channel: string, listener: Listener): () => void {
    return this.#listeners.add(channel, listener)
  }

  onRecovered(listener: () => void): () => void {
    this.#recovered.add(listener)
    return () => this.#recovered.delete(listener)
  }

  readAgain(): void {
    for (const listener of this.#recovered) listener()
  }

  async ping(): Promise<number> {
    const start = performance.now()
    try {
      await this.#commands.ping()
    } catch (error) {
      throw RedisUnavailable({ retryAfter: 2, cause: error })
    }
    return performance.now() - start
  }

  warnings(): Promise<string[]> {
    return memoryWarnings(this.#commands).catch(() => [])
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#commands.disconnect()
    this.#subscriber.disconnect()
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#subscriber.psubscribe(`${PREFIX}*`)
    } catch (error) {
      this.#log.warn({ error: (error as Error).message }, 'subscription failed; connecting again')
      this.#subscriber.disconnect(true)
      return
    }
    this.#linked = true
    if (this.#everLinked) this.readAgain()
    this.#everLinked = true
  }

  #receive(channel: string, text: string): void {
    let notice: { from?: string; message?: unknown }
    try {
      notice = JSON.parse(text) as typeof notice
    } catch {
      this.#log.warn({ channel }, 'dropped a notice that is not JSON')
      return
    }
    if (notice.from === this.#node) return
    if (channel === LOST) this.readAgain()
    else this.#listeners.call(channel.slice(PREFIX.length), notice.message)
  }
}
