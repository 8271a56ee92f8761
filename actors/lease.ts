import type { LeaseStore, NodeEntry, NodeState, RandomSource, RuntimeClock } from './ports.ts'

/** The share of the session time that a node trusts without another heartbeat. */
const TRUSTED = 0.8

export interface LeaseOptions {
  readonly store: LeaseStore
  readonly clock: RuntimeClock
  readonly random: RandomSource
  readonly address: string
  readonly ttlMs: number
  readonly beatMs: number
  /** False only in simulations: a node without heartbeats then continues until it learns that its session has ended. */
  readonly selfFence: boolean
  /** The session has ended or is no longer trusted. This node owns nothing any more. */
  readonly onLost: (lost: string) => void
  /** Called after a successful heartbeat. */
  readonly onBeat: () => void
  /** Called for the first of consecutive failures. */
  readonly onError: (error: unknown) => void
}

/**
 * The session of a node. Its time counts from the sending of a heartbeat, on the monotonic clock, so a node that was
 * paused knows at once that its session is over. After every lost lease the node starts a new incarnation.
 */
export class Lease {
  readonly #options: LeaseOptions
  readonly #clock: RuntimeClock
  #inc: string
  #previous: string | undefined
  #first = true
  #held = false
  #until = 0
  #state: NodeState = 'active'
  #nodes: readonly NodeEntry[] = []
  #beating = false
  #failing = false
  #again = false
  #closed = false
  #cancelBeat: () => void = () => undefined
  #cancelEnd: () => void = () => undefined
  #waiting: (() => void)[] = []
  lostLeases = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#inc = this.#newInc()
  }

  get inc(): string {
    return this.#inc
  }

  get state(): NodeState {
    return this.#state
  }

  /** The nodes that were alive at the last heartbeat. */
  get nodes(): readonly NodeEntry[] {
    return this.#nodes
  }

  /** Whether this node may run the actors that it owns. */
  get live(): boolean {
    if (!this.#held) return false
    return !this.#options.selfFence || this.#clock.monotonic() < this.#until
  }

  get leftMs(): number {
    return this.#held ? Math.max(0, this.#until - this.#clock.monotonic()) : 0
  }

  start(): void {
    void this.#beat()
  }

  /** Waits until the node has a lease, or until a time limit. @returns whether it has one */
  async untilLive(withinMs: number): Promise<boolean> {
    if (this.live || withinMs <= 0) return this.live
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(withinMs, resolve)
      this.#waiting.push(() => {
        cancel()
        resolve()
      })
    })
    return this.live
  }

  /** Publishes the state at once. */
  async enter(state: NodeState): Promise<void> {
    if (this.#state === state) return
    this.#state = state
    await this.#beat()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelBeat()
    this.#cancelEnd()
    const inc = this.#inc
    const held = this.#held
    this.#held = false
    if (held) await this.#options.store.leave(inc).catch(this.#options.onError)
  }

  /** Sends one heartbeat at a time. One that is requested in the meantime follows. */
  async #beat(): Promise<void> {
    if (this.#beating) {
      this.#again = true
      return
    }
    this.#beating = true
    this.#cancelBeat()
    const sentAt = this.#clock.monotonic()
    let pause = this.#options.beatMs
    try {
      await this.#sendBeat(sentAt)
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.onError(error)
      this.#failing = true
      pause = this.#options.beatMs / 4
    }
    this.#beating = false
    if (this.#closed) return
    if (this.#held && !this.live) this.#lose()
    if (this.#again) {
      this.#again = false
      pause = 0
    }
    const wait = Math.max(0, sentAt + pause - this.#clock.monotonic(), pause === 0 ? 0 : 25)
    this.#cancelBeat = this.#clock.after(wait, () => void this.#beat())
  }

  async #sendBeat(sentAt: number): Promise<void> {
    const { store, ttlMs, address } = this.#options
    const inc = this.#inc
    const first = this.#first
    const previous = this.#previous
    const reply = await store.beat({ inc, address, state: this.#state }, ttlMs, {
      first,
      ...(previous === undefined ? {} : { previous }),
    })
    if (this.#closed || inc !== this.#inc) return
    if (!reply.live) {
      if (this.#held) this.#lose()
      else this.#renew()
      this.#again = true
      return
    }
    this.#nodes = reply.nodes
    this.#first = false
    this.#previous = undefined
    this.#until = sentAt + ttlMs * TRUSTED
    // The reply was so late that the session may have ended.
    if (this.#options.selfFence && this.#clock.monotonic() >= this.#until) return
    this.#held = true
    this.#watchEnd()
    for (const wake of this.#waiting.splice(0)) wake()
    this.#options.onBeat()
  }

  /** Drops the owned actors when the session ends, even if no command comes. */
  #watchEnd(): void {
    this.#cancelEnd()
    if (!this.#options.selfFence) return
    this.#cancelEnd = this.#clock.after(Math.max(0, this.#until - this.#clock.monotonic()), () => {
      if (!this.#held) return
      if (this.live) this.#watchEnd()
      else this.#lose()
    })
  }

  #lose(): void {
    const lost = this.#inc
    this.#held = false
    this.lostLeases += 1
    this.#cancelEnd()
    this.#renew()
    this.#options.onLost(lost)
  }

  #renew(): void {
    this.#previous = this.#inc
    this.#inc = this.#newInc()
    this.#first = true
  }

  #newInc(): string {
    return Buffer.from(this.#options.random.bytes(12)).toString('base64url')
  }
}
