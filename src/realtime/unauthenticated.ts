import { networkOf } from '../tools/network-address.ts'
import type { Clock } from '../core/clock.ts'
import { TokenBucket } from '../tools/token-bucket.ts'
import { SOCKET_LIMITS, UNAUTHENTICATED_LIMITS } from './limits.ts'

/** The methods used of an engine.io connection. */
export interface EngineConnection {
  on(event: 'packet', listener: (packet: EnginePacket) => void): unknown
  once(event: 'close', listener: () => void): unknown
  close(discard: boolean): unknown
}

interface EnginePacket {
  readonly type: string
  readonly data?: unknown
}

/** A connection after its handshake. */
interface Watched {
  readonly connection: EngineConnection
  readonly network: string
  /** For its packets. */
  readonly budget: TokenBucket
  /** Called when an authenticated socket sends too much. Set once the connection is authenticated. */
  onFlood: (() => void) | undefined
  packets: number
  refusals: number
  /** A CONNECT is being processed. */
  isPending: boolean
  timer: NodeJS.Timeout | undefined
}

/** A CONNECT packet of socket.io, in any namespace. */
const CONNECT = '0'

/**
 * Limits the packets of connections, below socket.io: one payload of a polling client can hold thousands of packets, and
 * each CONNECT costs a database query. An unauthenticated connection may send a few packets, with one CONNECT at a time.
 * After a refusal it may try again a few times, within the time limit for authentication.
 */
export class UnauthenticatedConnections {
  readonly #clock: Clock
  readonly #watched = new WeakMap<object, Watched>()
  /** Unauthenticated connections by network, oldest first. */
  readonly #networks = new Map<string, Set<Watched>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Starts to watch a new connection. @param address the address of its client */
  watch(connection: EngineConnection, address: string): void {
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

  /** Records that a CONNECT was refused, and limits the time for another one. */
  refused(connection: object): void {
    const watched = this.#watched.get(connection)
    if (watched === undefined || watched.onFlood !== undefined) return
    watched.isPending = false
    watched.refusals += 1
    clearTimeout(watched.timer)
    watched.timer = setTimeout(() => watched.connection.close(true), SOCKET_LIMITS.authenticateWithinMs).unref()
  }

  /** Records that a connection is authenticated. @param onFlood called when its socket sends too much */
  authenticated(connection: object, onFlood: () => void): void {
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
    const isTooMuch = !withinBudget || watched.packets > UNAUTHENTICATED_LIMITS.packets
    const isTooOften = isConnect && (watched.isPending || watched.refusals >= UNAUTHENTICATED_LIMITS.refusals)
    if (isTooMuch || isTooOften) {
      watched.connection.close(true)
      return
    }
    if (!isConnect) return
    watched.isPending = true
    clearTimeout(watched.timer)
  }

  /** Closes the oldest connection without a pending CONNECT or, if there is none, the oldest of all. */
  #makeRoom(network: string): void {
    const peers = this.#networks.get(network)
    if (peers === undefined || peers.size < UNAUTHENTICATED_LIMITS.perNetwork) return
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
