import { systemClock, type Clock } from './clock.ts'
import { Overloaded } from './errors.ts'

/** Pieces of work that are shorter are not counted, in milliseconds. Most requests have none that is longer. */
export const NOTABLE_MS = 2

/** Work that keeps the main thread for longer delays everybody, and is reported. */
export const HELD_MS = 50

/** Pieces from this length on make an operation a heavy one, until several shorter requests of it have followed. */
const HEAVY_MS = 10

/** How much of the main thread a tenant may use in the long run. */
const SHARE = 0.5

/** What a tenant may use beyond its share before its requests wait, in milliseconds. */
const ALLOWANCE_MS = 30

/** The most that is held against a tenant. It bounds the wait after a single very long piece. */
const MAX_DEBT_MS = 2_000

/** How many requests of a tenant may wait, and for how long. */
const WAITING = { most: 256, ms: 5_000 }

/** Seconds after which a refused caller may try again. */
const RETRY_AFTER = 2

const SWEEP_EVERY_MS = 1_000

export interface MainThreadOptions {
  /** Real time, because it is compared with the time that work took. */
  readonly clock?: Pick<Clock, 'monotonic'>
  /** Called when work has kept the main thread for more than `HELD_MS`. @param name of the operation or job */
  readonly onHeld: (name: string, ms: number) => void
}

/** The expected time of a request that was admitted, until it is over. */
export interface Reservation {
  readonly tenant: string
  readonly ms: number
}

interface Waiter {
  readonly name: string
  readonly start: (reserved: Reservation | undefined) => void
}

/** A tenant that has used the main thread notably. */
interface Tenant {
  /** What it used and has reserved beyond its share, in milliseconds, at the time `at`. */
  debt: number
  at: number
  /** How many of its requests hold a reservation. */
  reservations: number
  readonly waiting: Waiter[]
}

/**
 * Shares the main thread among tenants: workspaces, accounts and networks. A tenant whose requests have used more than
 * their share waits until it is within its share again, so that heavy requests of one tenant wait for each other, with
 * turns of the event loop for others in between. The time that requests really took is counted, not their number. An
 * operation that was heavy lately is counted when it starts, because ten that start at once have not used anything yet.
 *
 * Requests of tenants without notable work only cost two look-ups, and none while no tenant has any.
 */
export class MainThread {
  readonly #onHeld: MainThreadOptions['onHeld']
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #tenants = new Map<string, Tenant>()
  /** The expected time of heavy operations, in milliseconds. */
  readonly #heavy = new Map<string, number>()
  /** Tenants with waiting requests. The first one is served next. */
  readonly #lines = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #servesNext = false
  #sweep: NodeJS.Timeout | undefined

  constructor({ clock = systemClock, onHeld }: MainThreadOptions) {
    this.#clock = clock
    this.#onHeld = onHeld
  }

  /** Whether no tenant has notable work and no operation is heavy, so that every request may start. */
  get isIdle(): boolean {
    return this.#tenants.size === 0 && this.#heavy.size === 0
  }

  /** The number of requests that wait for their tenant's share. */
  get waiting(): number {
    let count = 0
    for (const tenant of this.#lines) count += this.#tenants.get(tenant)?.waiting.length ?? 0
    return count
  }

  /**
   * Admits a request. Returns a promise only if it has to wait.
   * @returns what `leave` must be called with when the request is over
   * @throws AppError overloaded when too many requests of the tenant wait, or when it could not start in time
   */
  enter(tenant: string, name: string): Promise<Reservation | undefined> | Reservation | undefined {
    const known = this.#tenants.get(tenant)
    if (known === undefined && !this.#heavy.has(name)) return undefined
    const entry = known ?? this.#add(tenant)
    if (entry.waiting.length === 0 && this.#debtOf(entry) <= ALLOWANCE_MS) return this.#reserve(tenant, entry, name)
    return this.#wait(tenant, entry, name)
  }

  /** Counts a piece of work. @param tenants who asked for it; none if it is only reported when it is long */
  spent(name: string, tenants: readonly string[], ms: number): void {
    if (ms < NOTABLE_MS) return
    if (ms > HELD_MS) this.#onHeld(name, ms)
    if (tenants.length > 0 && ms >= HEAVY_MS)
      this.#heavy.set(name, Math.min(MAX_DEBT_MS, Math.max(ms, this.#heavy.get(name) ?? 0)))
    for (const tenant of tenants) {
      const entry = this.#tenants.get(tenant) ?? this.#add(tenant)
      entry.debt = Math.min(MAX_DEBT_MS, this.#debtOf(entry) + ms)
    }
  }

  /** A request that held a reservation is over. @param ms what it spent in all */
  over(name: string, ms: number): void {
    const expected = this.#heavy.get(name)
    if (expected !== undefined && ms < expected) this.#expect(name, Math.max(ms, expected * 0.7))
  }

  /** Replaces the expected time of a request by what `spent` has counted. */
  leave({ ms, tenant }: Reservation): void {
    const entry = this.#tenants.get(tenant)
    if (entry === undefined) return
    entry.debt = this.#debtOf(entry) - ms
    entry.reservations -= 1
    if (entry.waiting.length > 0) this.#schedule()
  }

  #add(tenant: string): Tenant {
    const entry: Tenant = { debt: 0, at: this.#clock.monotonic(), reservations: 0, waiting: [] }
    this.#tenants.set(tenant, entry)
    this.#sweep ??= setInterval(() => this.#forget(), SWEEP_EVERY_MS).unref()
    return entry
  }

  #expect(name: string, ms: number): void {
    if (ms < HEAVY_MS) this.#heavy.delete(name)
    else this.#heavy.set(name, ms)
  }

  #debtOf(entry: Tenant): number {
    const now = this.#clock.monotonic()
    entry.debt = Math.max(0, entry.debt - (now - entry.at) * SHARE)
    entry.at = now
    return entry.debt
  }

  #reserve(tenant: string, entry: Tenant, name: string): Reservation | undefined {
    const ms = this.#heavy.get(name)
    if (ms === undefined) return undefined
    entry.debt += ms
    entry.reservations += 1
    return { tenant, ms }
  }

  #wait(tenant: string, entry: Tenant, name: string): Promise<Reservation | undefined> {
    const { waiting } = entry
    if (waiting.length >= WAITING.most) throw Overloaded({ retryAfter: RETRY_AFTER })
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        name,
        start: (reserved) => {
          clearTimeout(timer)
          resolve(reserved)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1)
        if (waiting.length === 0) this.#lines.delete(tenant)
        reject(Overloaded({ retryAfter: RETRY_AFTER }))
      }, WAITING.ms)
      waiting.push(waiter)
      this.#lines.add(tenant)
      this.#schedule()
    })
  }

  /** Starts one waiting request in a later turn of the event loop, when its tenant is within its share. */
  #schedule(): void {
    if (this.#servesNext) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    let owed = Number.POSITIVE_INFINITY
    for (const tenant of this.#lines) {
      const entry = this.#tenants.get(tenant)
      if (entry !== undefined) owed = Math.min(owed, this.#debtOf(entry) - ALLOWANCE_MS)
    }
    if (owed <= 0) {
      this.#servesNext = true
      setImmediate(() => {
        this.#servesNext = false
        this.#serve()
      })
    } else if (owed < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#serve(), Math.ceil(owed / SHARE))
    }
  }

  #serve(): void {
    for (const tenant of this.#lines) {
      const entry = this.#tenants.get(tenant)
      if (entry === undefined || this.#debtOf(entry) > ALLOWANCE_MS) continue
      // Moves the tenant behind the others.
      this.#lines.delete(tenant)
      const first = entry.waiting.shift()
      if (entry.waiting.length > 0) this.#lines.add(tenant)
      if (first === undefined) continue
      first.start(this.#reserve(tenant, entry, first.name))
      break
    }
    this.#schedule()
  }

  /** Forgets tenants that owe nothing, and gradually what operations once took. */
  #forget(): void {
    for (const [name, ms] of this.#heavy) this.#expect(name, ms * 0.9)
    for (const [tenant, entry] of this.#tenants) {
      if (entry.waiting.length === 0 && entry.reservations === 0 && this.#debtOf(entry) === 0)
        this.#tenants.delete(tenant)
    }
    if (!this.isIdle) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}
