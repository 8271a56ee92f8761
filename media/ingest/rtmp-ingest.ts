import type { Socket } from 'node:net'
import type { MediaLog, MediaNodeOptions } from '../types.ts'
import { TallyLog } from '../tally-log.ts'
import { AddressGate } from './address-gate.ts'
import { Connection } from './connection.ts'
import { createEngine } from './engine.ts'
import type { EngineConnection } from './engine.ts'
import { CONTESTED, KeyContests } from './key-contests.ts'
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
  /** 0 takes a free port. */
  readonly port: number
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  readonly log: MediaLog
  /** Called before Publish.Start is said; the publisher's handlers are to be set in it. */
  readonly onPublisher: (publisher: Publisher) => void
  readonly limits?: Partial<IngestLimits>
  /** Publishers by TLS too. */
  readonly rtmps?: RtmpsSettings | undefined
}

export interface RtmpIngest {
  readonly port: number
  /** Null without RTMPS. */
  readonly rtmpsPort: number | null
  /** Open connections, publishers and strangers. */
  connections(): number
  /** Stops listening and drops everybody. */
  close(): Promise<void>
}

/** How often deadlines are looked at, as a part of the shortest one, and in milliseconds at most. */
const SWEEPS_PER_DEADLINE = 4
const LONGEST_SWEEP_MS = 500

/** Listens for RTMP publishers. Rejects when a port cannot be had, or the certificate for RTMPS cannot be used. */
export async function startRtmpIngest(options: IngestOptions): Promise<RtmpIngest> {
  const { log } = options
  const limits = { ...DEFAULT_INGEST_LIMITS, ...options.limits }
  const now = (): number => performance.now()
  const gate = new AddressGate(limits)
  const contests = new KeyContests(limits.contest)
  const connections = new Set<Connection>()
  const publishers = new Map<string, Connection>()
  const tally = new TallyLog(log)
  let turnedAway = 0

  const admitSocket = (socket: Socket): boolean => {
    const entered = socket.remoteAddress !== undefined && gate.enter(socket.remoteAddress, now())
    if (!entered) turnedAway += 1
    return entered
  }

  /** Whether a newcomer takes over from the publisher that is there; both are told when they fight over the key. */
  const challenge = (current: Connection, newcomer: Connection): string | null => {
    if (current.publishOrder > newcomer.publishOrder) return 'A newer publisher with this key has taken over.'
    if (!current.isSending(now(), contests.aliveMs)) return null
    const { allowed, count } = contests.challenge(newcomer.path!, now())
    if (count > 1) {
      ;(allowed ? newcomer : current).publisher?.contested(count)
      const { path, remoteAddress } = newcomer
      const fields = { path, remoteAddresses: [current.remoteAddress, remoteAddress], takeOvers: count, allowed }
      tally.add({ level: 'warn', message: 'encoders fight over one key', reason: newcomer.path!, fields })
    }
    return allowed ? null : CONTESTED
  }

  const admit = (connection: Connection): string | null => {
    const path = connection.path!
    const current = publishers.get(path)
    const refusal = current === undefined ? null : challenge(current, connection)
    if (refusal !== null) return refusal
    current?.end('replaced')
    publishers.set(path, connection)
    gate.admit(connection.remoteAddress)
    return null
  }

  const onClosed = (connection: Connection): void => {
    connections.delete(connection)
    gate.leave(connection.remoteAddress, connection.publisher !== null)
    if (connection.path !== null && publishers.get(connection.path) === connection) publishers.delete(connection.path)
  }

  const onConnection = (engine: EngineConnection): void => {
    const { authorizePublish, onPublisher } = options
    connections.add(new Connection({ engine, limits, log, tally, authorizePublish, admit, onPublisher, onClosed, now }))
  }

  const noteTurnedAway = (connections: number): void => {
    const line = { level: 'warn', message: 'connections turned away', reason: 'too many' } as const
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
      onAbandoned: (address) => gate.leave(address, false),
    }))
  let port: number
  try {
    port = await engine.listen(host, options.port)
  } catch (error) {
    await tls?.close()
    throw error
  }
  log.info({ host, port, rtmpsPort: tls?.port }, 'rtmp ingest listening')

  // Whoever lingers after the last word may do so for a while longer; an idle node wakes less often for it.
  const shortest = Math.min(limits.handshakeTimeoutMs, limits.idleTimeoutMs, limits.lingerMs * 4)
  const sweepMs = Math.max(5, Math.min(LONGEST_SWEEP_MS, shortest / SWEEPS_PER_DEADLINE))
  const sweep = setInterval(() => {
    const time = now()
    for (const connection of connections) connection.checkDeadlines(time)
    gate.prune(time)
    contests.prune(time)
    if (turnedAway > 0) noteTurnedAway(turnedAway)
    turnedAway = 0
  }, sweepMs)

  return {
    port,
    rtmpsPort: tls?.port ?? null,
    connections: () => gate.connections,
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
