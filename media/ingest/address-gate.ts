import { networkOf } from '../network-address.ts'
import type { IngestLimits } from './limits.ts'

interface AddressRecord {
  unadmitted: number
  /** Token bucket: connections that may still be opened at `refilledAt`. */
  tokens: number
  refilledAt: number
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
    if (record.tokens < 1 || record.unadmitted >= limits.maxUnadmittedPerAddress) return false
    record.tokens -= 1
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
      this.#refill(record, now)
      if (record.unadmitted === 0 && record.tokens >= this.#burst) this.#addresses.delete(network)
    }
  }

  get #burst(): number {
    return this.#limits.maxConnectionRatePerAddress * 2
  }

  #record(network: string, now: number): AddressRecord {
    let record = this.#addresses.get(network)
    if (record === undefined) {
      record = { unadmitted: 0, tokens: this.#burst, refilledAt: now }
      this.#addresses.set(network, record)
    }
    this.#refill(record, now)
    return record
  }

  #refill(record: AddressRecord, now: number): void {
    const earned = ((now - record.refilledAt) / 1_000) * this.#limits.maxConnectionRatePerAddress
    record.tokens = Math.min(this.#burst, record.tokens + earned)
    record.refilledAt = now
  }
}
