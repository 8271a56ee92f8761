import { newActivation, type Activation } from './activation.ts'
import type { Call, OpenCalls } from './calls.ts'
import { BATCH_BOUNDS, Histogram, LATENCY_BOUNDS } from './histogram.ts'
import type { ActorLimits } from './limits.ts'
import type { RuntimeClock } from './ports.ts'
import { Quarantine } from './quarantine.ts'
import {
  BatchError,
  FencedError,
  RefusedError,
  UnknownOutcomeError,
  type ActorHost,
  type Outcome,
  type OwnedActor,
} from './types.ts'

export interface EngineOptions {
  readonly host: ActorHost
  readonly clock: RuntimeClock
  readonly limits: ActorLimits
  readonly calls: OpenCalls
  readonly onError: (actor: string, error: unknown) => void
  /** Whether this process may run its actors now. */
  readonly mayAct: () => boolean
  /** Called after a fence: whether this process may activate the actor again. */
  readonly confirm: (actor: string) => Promise<boolean>
  /**
   * Takes back a command that this engine cannot finish. The order of commands is lost, which matters only to
   * callers that did not wait.
   */
  readonly reroute: (call: Call) => void
  /** Called when an actor was dropped, because it was idle or its transaction hung. */
  readonly onForgotten: (actor: string) => void
}

/** Another owner took the actor before anything was executed. */
const MOVED = Symbol('moved')

const LONGEST_PAUSE_MS = 500
/** The number of replies sent per event loop iteration while the next batch runs. More delay it (`npm run bench:posts`). */
const REPLIES_AT_ONCE = 4

/**
 * Activations and their batches, shared by both drivers. Commands that wait while a transaction runs share the next one.
 * If such a batch fails, its turns run one by one, so that a failing turn does not affect the others.
 */
export class Engine {
  readonly #options: EngineOptions
  readonly #limits: ActorLimits
  readonly #clock: RuntimeClock
  readonly #activations = new Map<string, Activation>()
  readonly #busy = new Set<Activation>()
  readonly #quarantine: Quarantine
  readonly #latency = new Histogram(LATENCY_BOUNDS)
  readonly #batchSize = new Histogram(BATCH_BOUNDS)
  readonly #counts = { activations: 0, turns: 0, batches: 0, fenced: 0 }
  #cancelSweep: () => void
  #watching = false

  constructor(options: EngineOptions) {
    this.#options = options
    this.#limits = options.limits
    this.#clock = options.clock
    this.#quarantine = new Quarantine(() => this.#clock.monotonic(), options.limits.quarantineAfter)
    this.#cancelSweep = this.#scheduleSweep()
  }

  /** Puts a command into its actor's mailbox. */
  submit(call: Call): void {
    const key = call.command.actor
    const refusal = this.#quarantine.refusal(key)
    if (refusal) {
      call.fail(refusal)
      return
    }
    const activation = this.#activations.get(key) ?? this.#create(key)
    call.underWay = false
    if (activation.mailbox.put(call)) this.#wake(activation)
    else this.#options.calls.overload((error) => call.fail(error))
  }

  has(actor: string): boolean {
    return this.#activations.has(actor)
  }

  isIdle(actor: string): boolean {
    const activation = this.#activations.get(actor)
    return activation === undefined || (!activation.running && activation.mailbox.size === 0)
  }

  /**
   * Starts no further batch of the actor, and reroutes waiting commands. @returns when the batch in progress has
   * ended
   */
  async quiesce(actor: string, withinMs: number): Promise<void> {
    const activation = this.#activations.get(actor)
    if (activation === undefined) return
    this.#forget(activation)
    if (!activation.running) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(withinMs, () => {
        this.#abandon(activation)
        resolve()
      })
      activation.whenStill = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Drops all actors at once, after the lease was lost. */
  dropAll(): void {
    for (const activation of this.#activations.values()) this.#forget(activation)
  }

  /** Rejects the commands in mailboxes. */
  refuseWaiting(): void {
    for (const activation of this.#activations.values()) {
      for (const call of activation.mailbox.take(Number.POSITIVE_INFINITY)) call.fail(new RefusedError('closed'))
    }
  }

  close(): void {
    this.#cancelSweep()
  }

  owned(actor: string): OwnedActor {
    const activation = this.#activations.get(actor)
    const epoch = activation?.epoch
    return { actor, waiting: activation?.mailbox.size ?? 0, ...(epoch === undefined ? {} : { epoch }) }
  }

  actors(): string[] {
    return [...this.#activations.keys()]
  }

  stats() {
    return {
      active: this.#activations.size,
      ...this.#counts,
      quarantined: this.#quarantine.names(),
      latency: this.#latency.data(),
      batchSize: this.#batchSize.data(),
    }
  }

  #create(key: string): Activation {
    const activation = newActivation(key, this.#limits, this.#clock.monotonic())
    this.#activations.set(key, activation)
    return activation
  }

  #wake(activation: Activation): void {
    if (activation.running) return
    activation.running = true
    // Commands that arrive in the same iteration of the event loop join the batch.
    this.#clock.soon(() => void this.#drain(activation))
  }

  async #drain(activation: Activation): Promise<void> {
    while (!activation.gone && activation.mailbox.size > 0) {
      activation.taken = activation.mailbox.take(this.#limits.batch)
      await this.#perform(activation, activation.taken)
    }
    // In the same step as the check of the mailbox. Otherwise a command that came in between would never run.
    activation.taken = []
    activation.running = false
    activation.usedAt = this.#clock.monotonic()
    activation.answer?.()
    activation.whenStill?.()
  }

  async #perform(activation: Activation, calls: readonly Call[]): Promise<void> {
    // Its commands have been rerouted already.
    if (activation.abandoned) return
    if (activation.gone) {
      this.#rerouteAll(calls)
      return
    }
    const batch = this.#unexpired(calls)
    if (batch.length === 0) return
    try {
      await this.#attempt(activation, batch)
    } catch (error) {
      activation.answer?.()
      // The commands of an abandoned activation were rerouted, and may run elsewhere by now.
      if (!activation.abandoned) await this.#afterFailure(activation, batch, error)
    }
  }

  async #afterFailure(activation: Activation, batch: readonly Call[], error: unknown): Promise<void> {
    for (const call of batch) call.underWay = false
    if (error === MOVED) {
      this.#forget(activation)
      this.#rerouteAll(batch)
      return
    }
    if (error instanceof UnknownOutcomeError) {
      if (this.#options.host.remembersOutcomes) for (const call of batch) call.repeat()
      else for (const call of batch) call.fail(error.reason)
    } else if (batch.length === 1 || error instanceof BatchError || error instanceof RefusedError) {
      const reason = error instanceof BatchError ? error.reason : error
      const lone = batch.length === 1 && !(error instanceof BatchError) && !(error instanceof RefusedError)
      // A failure of the whole batch says nothing about an earlier attempt of a command.
      for (const call of batch) if (lone || call.command.repeated !== true) call.fail(reason)
    }
    const left = batch.filter((call) => !call.settled)
    if (left.some((call) => call.command.repeated === true)) await this.#pause(left)
    for (const call of left) await this.#perform(activation, [call])
  }

  /** Runs one transaction. Tries again if another owner had the actor in between. */
  async #attempt(activation: Activation, calls: readonly Call[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      if (!this.#options.mayAct()) throw MOVED
      const epoch = activation.epoch ?? (await this.#activate(activation))
      if (activation.gone || !this.#options.mayAct()) throw MOVED
      // Commands may have been refused during the activation. These must not run now.
      const batch = this.#unexpired(calls)
      if (batch.length === 0) return
      for (const call of batch) call.underWay = true
      try {
        const outcomes = await this.#inHost(activation, () =>
          this.#options.host.execute(
            activation.key,
            epoch,
            batch.map((call) => call.command),
          ),
        )
        this.#answer(activation, batch, outcomes)
        return
      } catch (error) {
        if (activation.abandoned) {
          if (this.#answersFor(activation)) for (const call of batch) call.fail(reasonOf(error))
          return
        }
        if (!(error instanceof FencedError)) throw error
        this.#counts.fenced += 1
        activation.epoch = undefined
        for (const call of batch) call.underWay = false
        if (activation.gone || !(await this.#options.confirm(activation.key))) throw MOVED
        if (tries === 3) throw new RefusedError('overloaded')
      }
    }
  }

  /**
   * Replies to the commands of a committed batch. If more commands wait, the next batch starts first, so that the
   * database is not idle. The replies are then sent a few at a time, so that they do not delay the turns of that batch.
   */
  #answer(activation: Activation, batch: readonly Call[], outcomes: readonly Outcome[]): void {
    this.#counts.batches += 1
    this.#counts.turns += batch.length
    this.#batchSize.observe(batch.length)
    const alsoFailures = this.#answersFor(activation)
    // Replies are sent in the order of the commits.
    activation.answer?.()
    let next = 0
    const send = (most: number) => {
      const end = Math.min(batch.length, next + most)
      if (end === batch.length) activation.answer = undefined
      for (; next < end; next += 1) this.#settle(batch[next] as Call, outcomes[next], alsoFailures)
    }
    const sendRest = () => send(batch.length)
    const sendSome = () => {
      if (activation.answer !== sendRest) return
      send(REPLIES_AT_ONCE)
      if (next < batch.length) this.#clock.soon(sendSome)
    }
    activation.answer = sendRest
    if (activation.gone || activation.mailbox.size === 0) sendRest()
    else this.#clock.soon(sendSome)
  }

  #settle(call: Call, outcome: Outcome | undefined, alsoFailures: boolean): void {
    this.#latency.observe(this.#clock.monotonic() - call.openedAt)
    if (outcome?.ok) call.succeed(outcome.value)
    else if (alsoFailures) call.fail(outcome?.error ?? new Error('the host gave no outcome for a command'))
  }

  /** The commands of an abandoned transaction are rerouted. The next owner can look up their outcomes. */
  #answersFor(activation: Activation): boolean {
    return !activation.abandoned || this.#options.host.remembersOutcomes !== true
  }

  async #activate(activation: Activation): Promise<number> {
    const { key } = activation
    try {
      const epoch = await this.#inHost(activation, () => this.#options.host.activate(key))
      activation.epoch = epoch
      this.#counts.activations += 1
      this.#quarantine.succeeded(key)
      return epoch
    } catch (error) {
      this.#quarantine.failed(key)
      this.#options.onError(key, error)
      throw new BatchError(error)
    }
  }

  async #inHost<T>(activation: Activation, work: () => Promise<T>): Promise<T> {
    activation.hostSince = this.#clock.monotonic()
    this.#busy.add(activation)
    if (!this.#watching) this.#watch()
    try {
      return await work()
    } finally {
      activation.hostSince = undefined
      this.#busy.delete(activation)
    }
  }

  #watch(): void {
    this.#watching = true
    this.#clock.after(Math.min(250, this.#limits.stallMs), () => {
      this.#watching = false
      const stalled = this.#clock.monotonic() - this.#limits.stallMs
      for (const activation of this.#busy) {
        if (activation.hostSince === undefined || activation.hostSince > stalled) continue
        this.#abandon(activation)
        this.#options.onForgotten(activation.key)
      }
      if (this.#busy.size > 0) this.#watch()
    })
  }

  /** Abandons a transaction. Its outcome is unknown here, but the next owner can look it up. */
  #abandon(activation: Activation): void {
    if (activation.abandoned) return
    activation.abandoned = true
    this.#busy.delete(activation)
    this.#forget(activation)
    for (const call of activation.taken) {
      if (call.settled) continue
      if (call.underWay) {
        // If outcomes are not stored, the command can only wait for its transaction or its deadline.
        if (!this.#options.host.remembersOutcomes) continue
        call.repeat()
      }
      this.#options.reroute(call)
    }
  }

  #forget(activation: Activation): void {
    activation.gone = true
    if (this.#activations.get(activation.key) === activation) {
      this.#activations.delete(activation.key)
      this.#options.host.dropped?.(activation.key)
    }
    this.#rerouteAll(activation.mailbox.take(Number.POSITIVE_INFINITY))
  }

  #rerouteAll(calls: readonly Call[]): void {
    for (const call of calls) if (!call.settled) this.#options.reroute(call)
  }

  #unexpired(calls: readonly Call[]): Call[] {
    const now = this.#clock.monotonic()
    const batch: Call[] = []
    for (const call of calls) {
      if (call.settled) continue
      if (call.command.deadline > now) batch.push(call)
      else this.#options.calls.expire(call)
    }
    return batch
  }

  async #pause(calls: readonly Call[]): Promise<void> {
    const attempts = calls.reduce((most, call) => Math.max(most, (call.attempts += 1)), 0)
    const ms = Math.min(LONGEST_PAUSE_MS, 25 * 2 ** Math.min(attempts, 10))
    await new Promise<void>((resolve) => void this.#clock.after(ms, resolve))
  }

  #scheduleSweep(): () => void {
    return this.#clock.after(Math.min(10_000, this.#limits.idleMs), () => {
      const idleSince = this.#clock.monotonic() - this.#limits.idleMs
      for (const [key, activation] of this.#activations) {
        if (activation.running || activation.mailbox.size > 0 || activation.usedAt >= idleSince) continue
        this.#forget(activation)
        this.#options.onForgotten(key)
      }
      this.#quarantine.sweep()
      this.#cancelSweep = this.#scheduleSweep()
    })
  }
}

function reasonOf(error: unknown): unknown {
  if (error instanceof BatchError || error instanceof UnknownOutcomeError) return error.reason
  return error instanceof FencedError ? new RefusedError('overloaded') : error
}
