import { networkOf } from '../../src/tools/network-address.ts'
import { TokenBucket } from '../../src/tools/token-bucket.ts'
import type { IngestLimits } from './limits.ts'

interface AddressRecord {
  unadmitted: number
  /** Limits the rate of new connections. */
  readonly bucket: TokenBucket
}

type ConnectionLimits = Pick<
  IngestLimits,
  'maxConnections' | 'maxUnadmitted' | 'maxUnadmittedPerAddress' | 'maxConnectionRatePerAddress'
>

/** Limits connections, per address and in total. Times are milliseconds of a monotonic clock. */
export class ConnectionLimiter {
  readonly #limits: ConnectionLimits
  readonly #addresses = new Map<string, AddressRecord>()
  #connections = 0
  #unadmitted = 0

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  get connections(): number {
    return this.#connections
  }

  /** Counts a new connection. Returns false, and counts nothing, when a limit is reached. */
  open(address: string, now: number): boolean {
    const limits = this.#limits
    if (this.#connections >= limits.maxConnections || this.#unadmitted >= limits.maxUnadmitted) return false
    const record = this.#record(networkOf(address), now)
    if (record.unadmitted >= limits.maxUnadmittedPerAddress || !record.bucket.take(now)) return false
    record.unadmitted += 1
    this.#connections += 1
    this.#unadmitted += 1
    return true
  }

  /** The connection was admitted as a publisher and no longer counts as unadmitted. */
  admit(address: string): void {
    this.#unadmitted -= 1
    const record = this.#addresses.get(networkOf(address))
    if (record !== undefined) record.unadmitted -= 1
  }

  close(address: string, admitted: boolean): void {
    if (!admitted) this.admit(address)
    this.#connections -= 1
  }

  /** Removes addresses without unadmitted connections whose bucket is full. */
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
