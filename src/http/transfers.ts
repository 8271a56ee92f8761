import { SECOND, type Clock } from '../core/clock.ts'

/** Limits of the incomplete transfers of clients. */
export interface TransferLimits {
  /** Per network; see `networkOf`. */
  readonly perNetwork: number
  readonly total: number
  /** The minimum average rate in bytes per second, once `graceMs` have passed. */
  readonly bytesPerSecond: number
  readonly graceMs: number
  /** How long a transfer may take at any rate; any time when absent. */
  readonly longestMs?: number
}

/** Why a transfer was closed: it was below the minimum rate, took too long, or was the oldest when there were too many. */
export type CutReason = 'slow' | 'long' | 'crowded'

/** One incoming body or outgoing reply. */
export class Transfer {
  readonly network: string
  readonly startedAt: number
  readonly cut: (reason: CutReason) => void
  bytes = 0

  constructor(network: string, startedAt: number, cut: (reason: CutReason) => void) {
    this.network = network
    this.startedAt = startedAt
    this.cut = cut
  }
}

const CHECK_EVERY_MS = SECOND

/**
 * Transfers whose speed depends on the client. A client that sends or reads a byte now and then would hold memory for
 * any length of time, so each transfer must keep a minimum rate. A new transfer always gets a place: if there are too
 * many, the oldest one of its network is closed, or of the network with the most. Transfers that finish at once are not
 * affected.
 */
export class Transfers {
  readonly #limits: TransferLimits
  readonly #clock: Clock
  readonly #onCut: (reason: CutReason) => void
  /** By network, oldest first. */
  readonly #networks = new Map<string, Set<Transfer>>()
  #count = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: TransferLimits, clock: Clock, onCut: (reason: CutReason) => void = () => undefined) {
    this.#limits = limits
    this.#clock = clock
    this.#onCut = onCut
  }

  /** The number of current transfers. */
  get count(): number {
    return this.#count
  }

  /** @param cut closes the transfer for the client; it has ended then, and `end` need not be called */
  begin(network: string, cut: (reason: CutReason) => void): Transfer {
    const { perNetwork, total } = this.#limits
    const own = this.#networks.get(network)
    if (own !== undefined && own.size >= perNetwork) this.#cutOldest(own)
    else if (this.#count >= total) this.#cutOldest(this.#largest())
    const transfer = new Transfer(network, this.#clock.monotonic(), cut)
    const peers = this.#networks.get(network) ?? new Set()
    this.#networks.set(network, peers.add(transfer))
    this.#count += 1
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
    return transfer
  }

  /** The transfer is complete, or its client has disconnected. Further calls do nothing. */
  end(transfer: Transfer): void {
    const peers = this.#networks.get(transfer.network)
    if (!peers?.delete(transfer)) return
    this.#count -= 1
    if (peers.size === 0) this.#networks.delete(transfer.network)
    if (this.#count > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #check(): void {
    const { bytesPerSecond, graceMs, longestMs = Infinity } = this.#limits
    const now = this.#clock.monotonic()
    for (const peers of this.#networks.values()) {
      for (const transfer of peers) {
        const ms = now - transfer.startedAt
        if (ms > graceMs && transfer.bytes < (ms / SECOND) * bytesPerSecond) this.#cut(transfer, 'slow')
        else if (ms > longestMs) this.#cut(transfer, 'long')
      }
    }
  }

  #cutOldest(peers: ReadonlySet<Transfer>): void {
    for (const oldest of peers) return this.#cut(oldest, 'crowded')
  }

  #cut(transfer: Transfer, reason: CutReason): void {
    this.end(transfer)
    this.#onCut(reason)
    transfer.cut(reason)
  }

  #largest(): ReadonlySet<Transfer> {
    let largest: ReadonlySet<Transfer> = new Set()
    for (const peers of this.#networks.values()) if (peers.size > largest.size) largest = peers
    return largest
  }
}
