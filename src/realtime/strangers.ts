import { networkOf } from '../core/client-address.ts'
import type { Clock } from '../core/clock.ts'
import { TokenBucket } from '../core/token-bucket.ts'
import { SOCKET_LIMITS, STRANGER_LIMITS } from './limits.ts'

/** What is used of a connection of engine.io. */
export interface EngineConnection {
  on(event: 'packet', listener: (packet: EnginePacket) => void): unknown
  once(event: 'close', listener: () => void): unknown
  close(discard: boolean): unknown
}

interface EnginePacket {
  readonly type: string
  readonly data?: unknown
}

/** A connection from its handshake on. */
interface Watched {
  readonly connection: EngineConnection
  readonly network: string
  /** For its packets. */
  readonly budget: TokenBucket
  /** Called when a socket that was admitted sends too much. */
  onFlood: (() => void) | undefined
  packets: number
  refusals: number
  /** A CONNECT is being looked at. */
  isPending: boolean
  timer: NodeJS.Timeout | undefined
}

/** A CONNECT packet of socket.io, whatever its namespace. */
const CONNECT = '0'

/**
 * Counts what connections send, packet by packet, below socket.io: one payload of a client that polls holds thousands
 * of packets, and each CONNECT costs a look at the database. Until a connection is admitted it may send a few packets
 * and one CONNECT at a time; a refused one may try again a few times, within the time for those who do not say who they
 * are.
 */
export class Strangers {
  readonly #clock: Clock
  readonly #watched = new WeakMap<object, Watched>()
  /** Connections that were not admitted, by network, in the order of their coming. */
  readonly #networks = new Map<string, Set<Watched>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Watches a new connection. @param address of its client */
  greet(connection: EngineConnection, address: string): void {
    const network = networkOf(address)
    const budget = new TokenBucket(SOCKET_LIMITS, this.#clock.monotonic())
    const watched: Watched = {
      connection,
      network,
      budget,
      onFlood: undefined,
      packets: 0,
      refusals: 0,
      isPending: false,
      timer: undefined,
    }
    this.#watched.set(connection, watched)
    this.#makeRoom(network)
    const peers = this.#networks.get(network) ?? new Set()
    this.#networks.set(network, peers.add(watched))
    connection.on('packet', (packet) => this.#count(watched, packet))
    connection.once('close', () => this.#forget(watched))
  }

  /** The connection's CONNECT was refused: it may try again, and must hurry. */
  refused(connection: object): void {
    const watched = this.#watched.get(connection)
    if (watched === undefined || watched.onFlood !== undefined) return
    watched.isPending = false
    watched.refusals += 1
    clearTimeout(watched.timer)
    watched.timer = setTimeout(() => watched.connection.close(true), SOCKET_LIMITS.authenticateWithinMs).unref()
  }

  /** The connection has a socket now. @param onFlood ends that socket when it sends too much */
  admitted(connection: object, onFlood: () => void): void {
    const watched = this.#watched.get(connection)
    if (watched === undefined) return
    this.#forget(watched)
    watched.onFlood = onFlood
  }

  #count(watched: Watched, { data, type }: EnginePacket): void {
    const withinBudget = watched.budget.take(this.#clock.monotonic())
    if (watched.onFlood !== undefined) {
      if (!withinBudget) watched.onFlood()
      return
    }
    watched.packets += 1
    const isConnect = type === 'message' && typeof data === 'string' && data.startsWith(CONNECT)
    const isTooMuch = !withinBudget || watched.packets > STRANGER_LIMITS.packets
    const isTooOften = isConnect && (watched.isPending || watched.refusals >= STRANGER_LIMITS.refusals)
    if (isTooMuch || isTooOften) {
      watched.connection.close(true)
      return
    }
    if (!isConnect) return
    watched.isPending = true
    clearTimeout(watched.timer)
  }

  /** The oldest that has not tried to connect goes; where all are waiting for an answer, the oldest of those. */
  #makeRoom(network: string): void {
    const peers = this.#networks.get(network)
    if (peers === undefined || peers.size < STRANGER_LIMITS.perNetwork) return
    const all = [...peers]
    const oldest = all.find(({ isPending }) => !isPending) ?? all[0]
    oldest?.connection.close(true)
  }

  #forget(watched: Watched): void {
    clearTimeout(watched.timer)
    const peers = this.#networks.get(watched.network)
    if (!peers?.delete(watched)) return
    if (peers.size === 0) this.#networks.delete(watched.network)
  }
}
