import { networkOf } from '../network-address.ts'
import { TokenBucket } from '../token-bucket.ts'
import type { IngestLimits } from './limits.ts'

interface AddressRecord {
  unadmitted: number
  /** Connections that may still be opened. */
  readonly bucket: TokenBucket
}

type GateLimits = Pick<
  IngestLimits,
  'maxConnections' | 'maxUnadmitted' | 'maxUnadmittedPerAddress' | 'maxConnectionRatePerAddress'
>

/** Counts connections, and decides who may open another. Times are milliseconds of any monotonic clock. */
export class AddressGate {
  readonly #limits: GateLimits
  readonly #addresses = new Map<string, AddressRecord>()
  #connections = 0
  #unadmitted = 0

  constructor(limits: GateLimits) {
    this.#limits = limits
  }

  get connections(): number {
    return this.#connections
  }

  /** Takes a place for a new connection, or says that there is none. */
  enter(address: string, now: number): boolean {
    const limits = this.#limits
    if (this.#connections >= limits.maxConnections || this.#unadmitted >= limits.maxUnadmitted) return false
    const record = this.#record(networkOf(address), now)
    if (record.unadmitted >= limits.maxUnadmittedPerAddress || !record.bucket.take(now)) return false
    record.unadmitted += 1
    this.#connections += 1
    this.#unadmitted += 1
    return true
  }

  /** The connection publishes now: it no longer counts among the strangers. */
  admit(address: string): void {
    this.#unadmitted -= 1
    const record = this.#addresses.get(networkOf(address))
    if (record !== undefined) record.unadmitted -= 1
  }

  leave(address: string, admitted: boolean): void {
    if (!admitted) this.admit(address)
    this.#connections -= 1
  }

  /** Forgets addresses that have no stranger connected and a full bucket. */
  prune(now: number): void {
    for (const [network, record] of this.#addresses) {
      if (record.unadmitted === 0 && record.bucket.isFull(now)) this.#addresses.delete(network)
    }
  }

  #record(network: string, now: number): AddressRecord {
    let record = this.#addresses.get(network)
    if (record === undefined) {
      const perSecond = this.#limits.maxConnectionRatePerAddress
      record = { unadmitted: 0, bucket: new TokenBucket({ burst: perSecond * 2, perSecond }, now) }
      this.#addresses.set(network, record)
    }
    return record
  }
}
