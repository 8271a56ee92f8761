import { Mailbox, type Waiting } from './mailbox.ts'
import {
  BatchError,
  FencedError,
  RefusedError,
  type ActorHost,
  type Actors,
  type ActorStats,
  type Command,
} from './types.ts'

export interface LocalActorsOptions {
  readonly host: ActorHost
  /** Milliseconds, never steps back. */
  readonly monotonic: () => number
  readonly limits?: Partial<ActorLimits>
  readonly onError?: (actor: string, error: unknown) => void
}

export interface ActorLimits {
  /** Commands that may wait for one actor. */
  readonly perActor: number
  /** Of those, commands of one caller. */
  readonly perCaller: number
  /** Commands that may wait on this node. */
  readonly perNode: number
  /** Turns that share a transaction at most. */
  readonly batch: number
  /** Milliseconds without a command after which an actor is forgotten. */
  readonly idleMs: number
  /** Failed activations within a minute that quarantine an actor. */
  readonly quarantineAfter: number
}

const DEFAULTS: ActorLimits = {
  perActor: 256,
  perCaller: 32,
  perNode: 4096,
  batch: 64,
  idleMs: 120_000,
  quarantineAfter: 3,
}

interface Actor {
  readonly key: string
  readonly mailbox: Mailbox
  epoch: number | undefined
  running: boolean
  usedAt: number
}

interface Quarantine {
  failures: number[]
  until: number
}

/**
 * The in-process driver of the actor port: this process owns every actor it is asked for. Commands that wait while a
 * transaction runs share the next one; if such a batch fails, its turns run one by one, so that a poison turn hurts
 * itself alone. Ownership is fenced in the database all the same, so that a second process does no harm.
 */
export class LocalActors implements Actors {
  readonly #host: ActorHost
  readonly #monotonic: () => number
  readonly #limits: ActorLimits
  readonly #onError: (actor: string, error: unknown) => void
  readonly #actors = new Map<string, Actor>()
  readonly #quarantines = new Map<string, Quarantine>()
  readonly #sweeper: NodeJS.Timeout
  #waiting = 0
  #running = 0
  #closed = false
  #whenIdle: (() => void) | undefined
  readonly #counts = { activations: 0, turns: 0, batches: 0, fenced: 0, overloaded: 0, expired: 0 }

  constructor(options: LocalActorsOptions) {
    this.#host = options.host
    this.#monotonic = options.monotonic
    this.#limits = { ...DEFAULTS, ...options.limits }
    this.#onError = options.onError ?? (() => undefined)
    this.#sweeper = setInterval(() => this.#passivateIdle(), Math.min(10_000, this.#limits.idleMs)).unref()
  }

  run(command: Command): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RefusedError('closed'))
    const refused = this.#quarantined(command.actor)
    if (refused) return Promise.reject(refused)
    return new Promise((resolve, reject) => {
      if (this.#waiting >= this.#limits.perNode && command.priority !== 'control') {
        this.#counts.overloaded += 1
        reject(new RefusedError('overloaded'))
        return
      }
      const actor = this.#actor(command.actor)
      try {
        actor.mailbox.put({ command, resolve, reject })
      } catch (error) {
        this.#counts.overloaded += 1
        reject(error)
        return
      }
      this.#waiting += 1
      this.#wake(actor)
    })
  }

  stats(): ActorStats {
    const now = this.#monotonic()
    return {
      active: this.#actors.size,
      waiting: this.#waiting,
      ...this.#counts,
      quarantined: [...this.#quarantines].filter(([, row]) => row.until > now).map(([key]) => key),
    }
  }

  async close(withinMs: number): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeper)
    if (this.#waiting === 0 && this.#running === 0) return
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      }),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, withinMs)
      }),
    ])
    clearTimeout(timer)
    for (const actor of this.#actors.values()) {
      for (const waiting of actor.mailbox.take(Number.POSITIVE_INFINITY))
        this.#reject(waiting, new RefusedError('closed'))
    }
  }

  #actor(key: string): Actor {
    let actor = this.#actors.get(key)
    if (actor === undefined) {
      const mailbox = new Mailbox(this.#limits.perActor, this.#limits.perCaller)
      actor = { key, mailbox, epoch: undefined, running: false, usedAt: this.#monotonic() }
      this.#actors.set(key, actor)
    }
    return actor
  }

  #wake(actor: Actor): void {
    if (actor.running) return
    actor.running = true
    this.#running += 1
    // Whatever else arrives in this turn of the event loop belongs to the same batch.
    setImmediate(() => void this.#drain(actor))
  }

  async #drain(actor: Actor): Promise<void> {
    while (actor.mailbox.size > 0) {
      await this.#perform(actor, actor.mailbox.take(this.#limits.batch))
    }
    // In the same step as the look into the mailbox: a command that came in between would never be woken up for.
    actor.running = false
    actor.usedAt = this.#monotonic()
    this.#running -= 1
    if (this.#waiting === 0 && this.#running === 0) this.#whenIdle?.()
  }

  async #perform(actor: Actor, taken: readonly Waiting[]): Promise<void> {
    const batch = this.#unexpired(taken)
    if (batch.length === 0) return
    try {
      await this.#attempt(actor, batch)
    } catch (error) {
      if (batch.length === 1 || error instanceof BatchError || error instanceof RefusedError) {
        const reason = error instanceof BatchError ? error.reason : error
        for (const waiting of batch) this.#reject(waiting, reason)
        return
      }
      for (const waiting of batch) await this.#perform(actor, [waiting])
    }
  }

  #unexpired(taken: readonly Waiting[]): Waiting[] {
    const now = this.#monotonic()
    const batch: Waiting[] = []
    for (const waiting of taken) {
      if (waiting.command.deadline > now) batch.push(waiting)
      else {
        this.#counts.expired += 1
        this.#reject(waiting, new RefusedError('expired'))
      }
    }
    return batch
  }

  /** One transaction, tried again when another owner had the actor in between. */
  async #attempt(actor: Actor, batch: readonly Waiting[]): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const epoch = actor.epoch ?? (await this.#activate(actor))
      try {
        const outcomes = await this.#host.execute(
          actor.key,
          epoch,
          batch.map((waiting) => waiting.command),
        )
        this.#counts.batches += 1
        this.#counts.turns += batch.length
        batch.forEach((waiting, index) => this.#settle(waiting, outcomes[index]))
        return
      } catch (error) {
        if (!(error instanceof FencedError)) throw error
        this.#counts.fenced += 1
        actor.epoch = undefined
        if (tries === 2) throw new RefusedError('overloaded', 1)
      }
    }
  }

  async #activate(actor: Actor): Promise<number> {
    try {
      actor.epoch = await this.#host.activate(actor.key)
      this.#counts.activations += 1
      this.#quarantines.delete(actor.key)
      return actor.epoch
    } catch (error) {
      this.#noteFailure(actor.key)
      this.#onError(actor.key, error)
      throw new BatchError(error)
    }
  }

  #noteFailure(key: string): void {
    const now = this.#monotonic()
    const row = this.#quarantines.get(key) ?? { failures: [], until: 0 }
    row.failures = [...row.failures.filter((at) => now - at < 60_000), now]
    const over = row.failures.length - this.#limits.quarantineAfter
    if (over >= 0) row.until = now + Math.min(60_000, 1_000 * 2 ** over)
    this.#quarantines.set(key, row)
  }

  #quarantined(key: string): RefusedError | undefined {
    const until = this.#quarantines.get(key)?.until ?? 0
    const left = until - this.#monotonic()
    return left > 0 ? new RefusedError('quarantined', Math.ceil(left / 1000)) : undefined
  }

  #settle(waiting: Waiting, outcome: { ok: boolean; value?: unknown; error?: unknown } | undefined): void {
    this.#waiting -= 1
    if (outcome?.ok) waiting.resolve(outcome.value)
    else waiting.reject(outcome?.error ?? new Error('the host gave no outcome for a command'))
  }

  #reject(waiting: Waiting, error: unknown): void {
    this.#waiting -= 1
    waiting.reject(error)
  }

  #passivateIdle(): void {
    const now = this.#monotonic()
    for (const [key, actor] of this.#actors) {
      if (!actor.running && actor.mailbox.size === 0 && now - actor.usedAt > this.#limits.idleMs)
        this.#actors.delete(key)
    }
    for (const [key, row] of this.#quarantines) {
      if (row.failures.every((at) => now - at > 60_000) && row.until < now) this.#quarantines.delete(key)
    }
  }
}
