import type { Socket } from 'node:net'
import type { MediaLog, MediaNodeOptions } from '../types.ts'
import { TallyLog } from '../../src/tools/tally-log.ts'
import { Connection } from './connection.ts'
import { ConnectionLimiter } from './connection-limiter.ts'
import { createEngine } from './engine.ts'
import type { EngineConnection } from './engine.ts'
import { KEY_CONTESTED, KeyContests } from './key-contests.ts'
import { DEFAULT_INGEST_LIMITS } from './limits.ts'
import type { IngestLimits } from './limits.ts'
import type { Publisher } from './publisher.ts'
import { startTlsListener, type RtmpsSettings } from './tls-listener.ts'

export type { IngestLimits } from './limits.ts'
export type { Publisher } from './publisher.ts'
export type { RtmpsSettings } from './tls-listener.ts'
export type { PublisherStats } from './ingest-meter.ts'

export interface IngestOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  readonly log: MediaLog
  /** Called before Publish.Start is sent. It must set the handlers of the publisher. */
  readonly onPublisher: (publisher: Publisher) => void
  readonly limits?: Partial<IngestLimits>
  /** Enables RTMPS. */
  readonly rtmps?: RtmpsSettings | undefined
}

export interface RtmpIngest {
  readonly port: number
  /** Null without RTMPS. */
  readonly rtmpsPort: number | null
  /** Number of open connections, admitted or not. */
  connections(): number
  /** Stops listening and ends all connections. */
  close(): Promise<void>
}

/** Deadlines are checked this many times within the shortest one, and at least every `MAX_SWEEP_MS`. */
const SWEEPS_PER_DEADLINE = 4
const MAX_SWEEP_MS = 500

/** Listens for RTMP publishers. Rejects when it cannot listen or cannot load the RTMPS certificate. */
export async function startRtmpIngest(options: IngestOptions): Promise<RtmpIngest> {
  const { log } = options
  const limits = { ...DEFAULT_INGEST_LIMITS, ...options.limits }
  const now = (): number => performance.now()
  const limiter = new ConnectionLimiter(limits)
  const contests = new KeyContests(limits.contest)
  const connections = new Set<Connection>()
  const publishers = new Map<string, Connection>()
  const tally = new TallyLog(log)
  let rejected = 0

  const admitSocket = (socket: Socket): boolean => {
    const isOpen = socket.remoteAddress !== undefined && limiter.open(socket.remoteAddress, now())
    if (!isOpen) rejected += 1
    return isOpen
  }

  /** Decides whether a new connection replaces the publisher of its path. Returns the reason if it does not. */
  const takeOver = (current: Connection, newcomer: Connection): string | null => {
    if (current.publishOrder > newcomer.publishOrder) return 'A newer publisher with this key has taken over.'
    if (!current.isSending(now(), contests.sendingMs)) return null
    const { allowed, count } = contests.requestTakeOver(newcomer.path!, now())
    if (count > 1) {
      ;(allowed ? newcomer : current).publisher?.keyContested(count)
      const { path, remoteAddress } = newcomer
      const fields = { path, remoteAddresses: [current.remoteAddress, remoteAddress], takeOvers: count, allowed }
      tally.add({ level: 'warn', message: 'two encoders use the same key', reason: newcomer.path!, fields })
    }
    return allowed ? null : KEY_CONTESTED
  }

  const admit = (connection: Connection): string | null => {
    const path = connection.path!
    const current = publishers.get(path)
    const refusal = current === undefined ? null : takeOver(current, connection)
    if (refusal !== null) return refusal
    current?.end('replaced')
    publishers.set(path, connection)
    limiter.admit(connection.remoteAddress)
    return null
  }

  const onClosed = (connection: Connection): void => {
    connections.delete(connection)
    limiter.close(connection.remoteAddress, connection.publisher !== null)
    if (connection.path !== null && publishers.get(connection.path) === connection) publishers.delete(connection.path)
  }

  const onConnection = (engine: EngineConnection): void => {
    const { authorizePublish, onPublisher } = options
    connections.add(new Connection({ engine, limits, log, tally, authorizePublish, admit, onPublisher, onClosed, now }))
  }

  const logRejected = (connections: number): void => {
    const line = { level: 'warn', message: 'connections rejected', reason: 'too many' } as const
    tally.add({ ...line, fields: { connections }, count: connections })
  }

  const engine = createEngine({ log, admitSocket, onConnection })
  const { host, rtmps } = options
  const tls =
    rtmps &&
    (await startTlsListener({
      ...rtmps,
      host,
      handshakeTimeoutMs: limits.handshakeTimeoutMs,
      log,
      admitSocket,
      onSocket: (socket) => engine.accept(socket),
      onHandshakeFailed: (address) => limiter.close(address, false),
    }))
  let port: number
  try {
    port = await engine.listen(host, options.port)
  } catch (error) {
    await tls?.close()
    throw error
  }
  log.info({ host, port, rtmpsPort: tls?.port }, 'rtmp ingest listening')

  // The linger time need not be exact, so it counts four times. An idle node then wakes up less often.
  const shortest = Math.min(limits.handshakeTimeoutMs, limits.idleTimeoutMs, limits.lingerMs * 4)
  const sweepMs = Math.max(5, Math.min(MAX_SWEEP_MS, shortest / SWEEPS_PER_DEADLINE))
  const sweep = setInterval(() => {
    const time = now()
    for (const connection of connections) connection.checkDeadlines(time)
    limiter.prune(time)
    contests.prune(time)
    if (rejected > 0) logRejected(rejected)
    rejected = 0
  }, sweepMs)

  return {
    port,
    rtmpsPort: tls?.port ?? null,
    connections: () => limiter.connections,
    async close() {
      clearInterval(sweep)
      tally.flush()
      const closed = tls?.close()
      for (const connection of connections) connection.end('shutdown')
      await engine.close()
      await closed
    },
  }
}
