import type { BeatResult, LeaseStore, NodeEntry } from '../ports.ts'
import type { SimProcess } from './process.ts'
import type { SeededRandom } from './random.ts'
import type { Scheduler } from './scheduler.ts'

const COMMAND_TIMEOUT_MS = 1_000

interface Session {
  readonly entry: NodeEntry
  readonly until: number
}

/** Implements the Lua scripts on maps. lease-store.test.ts runs the same tests on both. */
export class LeaseTables {
  readonly #now: () => number
  readonly sessions = new Map<string, Session>()
  readonly claims = new Map<string, string>()

  constructor(now: () => number) {
    this.#now = now
  }

  beat(self: NodeEntry, ttlMs: number, first: boolean, previous: string | undefined): BeatResult {
    if (!first && this.#living(self.inc) === undefined) return { live: false, nodes: [] }
    if (first && previous !== undefined) this.sessions.delete(previous)
    this.sessions.set(self.inc, { entry: self, until: this.#now() + ttlMs })
    const nodes = [...this.sessions.keys()].map((inc) => this.#living(inc)).filter((entry) => entry !== undefined)
    return { live: true, nodes }
  }

  locate(actor: string, candidates: readonly string[]): NodeEntry | undefined {
    const owner = this.#living(this.claims.get(actor) ?? '')
    if (owner) return owner
    for (const candidate of candidates) {
      const entry = this.#living(candidate)
      if (entry === undefined) continue
      this.claims.set(actor, candidate)
      return entry
    }
    return undefined
  }

  release(actor: string, inc: string, heir: string | undefined): void {
    if (this.claims.get(actor) !== inc) return
    if (heir !== undefined && this.#living(heir)) this.claims.set(actor, heir)
    else this.claims.delete(actor)
  }

  leave(inc: string): void {
    this.sessions.delete(inc)
  }

  #living(inc: string): NodeEntry | undefined {
    const session = this.sessions.get(inc)
    return session !== undefined && session.until > this.#now() ? session.entry : undefined
  }
}

/** A Redis that can be slow, unavailable, empty or unreachable for some processes, and whose clock can jump. */
export class SimRedis {
  readonly #scheduler: Scheduler
  readonly #random: SeededRandom
  readonly tables: LeaseTables
  readonly #cutOff = new Set<string>()
  readonly #trustedUntil = new Map<SimProcess, number>()
  #downUntil = 0
  #slowUntil = 0
  #clockOffset = 0

  constructor(scheduler: Scheduler, random: SeededRandom) {
    this.#scheduler = scheduler
    this.#random = random
    this.tables = new LeaseTables(() => this.#scheduler.now + this.#clockOffset)
  }

  flush(): void {
    this.tables.sessions.clear()
    this.tables.claims.clear()
  }

  /** A failover to a replica that lacks the latest writes. */
  forgetSome(): void {
    for (const key of this.tables.claims.keys()) if (this.#random.chance(0.5)) this.tables.claims.delete(key)
    for (const key of this.tables.sessions.keys()) if (this.#random.chance(0.2)) this.tables.sessions.delete(key)
  }

  /** Unavailable for a while, and empty afterwards. */
  restart(ms: number): void {
    this.flush()
    this.#downUntil = this.#scheduler.now + ms
  }

  slowDown(ms: number): void {
    this.#slowUntil = this.#scheduler.now + ms
  }

  jump(ms: number): void {
    this.#clockOffset += ms
  }

  cutOff(process: string, ms: number): void {
    this.#cutOff.add(process)
    this.#scheduler.after(ms, () => this.#cutOff.delete(process))
  }

  heal(): void {
    this.#cutOff.clear()
    this.#downUntil = 0
    this.#slowUntil = 0
  }

  /** The lease store for one process. */
  storeFor(process: SimProcess): LeaseStore {
    const call = <T>(command: () => T) => this.#call(process, command)
    return {
      beat: async (self, ttlMs, { first, previous }) => {
        const sentAt = process.clock.monotonic()
        const result = await call(() => this.tables.beat(self, ttlMs, first, previous))
        if (result.live) this.#trustedUntil.set(process, sentAt + 0.8 * ttlMs)
        return result
      },
      locate: (actor, candidates) => call(() => this.tables.locate(actor, candidates)),
      release: (actor, inc, heir) => call(() => this.tables.release(actor, inc, heir)),
      leave: (inc) => call(() => this.tables.leave(inc)),
      close: async () => undefined,
    }
  }

  /** Whether a process may still run actors, according to its acknowledged heartbeats. Computed independently of the runtime. */
  trusts(process: SimProcess): boolean {
    return process.clock.monotonic() < (this.#trustedUntil.get(process) ?? 0)
  }

  #latency(): number {
    if (this.#scheduler.now < this.#slowUntil && this.#random.chance(0.5)) return this.#random.between(50, 3_000)
    return this.#random.between(0.1, 1.5)
  }

  /** Runs a command. It may still run after it has timed out. */
  #call<T>(process: SimProcess, command: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = process.clock.after(COMMAND_TIMEOUT_MS, () => reject(new Error('Command timed out')))
      if (this.#scheduler.now < this.#downUntil) {
        cancel()
        process.clock.after(1, () => reject(new Error('ECONNREFUSED')))
        return
      }
      this.#scheduler.after(this.#latency(), () => {
        if (this.#cutOff.has(process.name) || this.#scheduler.now < this.#downUntil) return
        const value = command()
        this.#scheduler.after(this.#latency(), () => {
          if (this.#cutOff.has(process.name)) return
          process.deliver(() => {
            cancel()
            resolve(value)
          })
        })
      })
    })
  }
}
