import { createHash } from 'node:crypto'
import { ClusterActors } from '../cluster-actors.ts'
import type { ActorLimits } from '../limits.ts'
import { jsonCodec } from '../ports.ts'
import { RefusedError } from '../types.ts'
import { SimProcess } from './process.ts'
import { SeededRandom } from './random.ts'
import { Scheduler } from './scheduler.ts'
import { SimNetwork, type SimNetworkFlaws } from './sim-network.ts'
import { SimRedis } from './sim-redis.ts'
import { SimStore, type SimPayload, type SimStoreFlaws } from './sim-store.ts'

export interface WorldOptions extends SimStoreFlaws, SimNetworkFlaws {
  /** Number of nodes. By default the seed chooses 2 or 3. */
  readonly nodes?: number
  /** Whether nodes fence themselves by their clocks. By default the seed decides. */
  readonly selfFence?: boolean
  /** Whether mailboxes are small. By default the seed decides. */
  readonly smallLimits?: boolean
  /** Nodes do not fence themselves although they should. */
  readonly brokenSelfFence?: boolean
  /** Records a description of every step. */
  readonly trace?: boolean
}

export type Result = 'acknowledged' | 'failed' | RefusedError['reason'] | 'unavailable'

/** A command of a client, and its result. */
export interface Operation {
  readonly id: string
  readonly actor: string
  readonly node: string
  readonly process: SimProcess
  readonly kind: SimPayload['kind']
  readonly deadline: number
  result: Result | undefined
  value: unknown
  settledAt: number
}

export interface Slot {
  readonly name: string
  process: SimProcess
  actors: ClusterActors | undefined
}

const SMALL: Partial<ActorLimits> = { perActor: 3, perCaller: 2, perNode: 8, batch: 2 }
const SECRET = 'a secret that all nodes of the simulation share'

/** Nodes with the real runtime on a simulated clock, Redis, database and network. The seed determines the whole run. */
export class World {
  readonly random: SeededRandom
  readonly scheduler = new Scheduler()
  readonly redis: SimRedis
  readonly store: SimStore
  readonly network: SimNetwork
  readonly slots: Slot[] = []
  readonly operations: Operation[] = []
  readonly lines: string[] = []
  /** Processes whose clock or progress was changed by a fault. Their delays are not checked. */
  readonly disturbed = new Set<SimProcess>()
  readonly selfFence: boolean
  readonly smallLimits: boolean
  readonly #brokenSelfFence: boolean
  readonly #digest = createHash('sha1')
  readonly #trace: boolean

  constructor(seed: number, options: WorldOptions) {
    this.random = new SeededRandom(seed)
    this.#trace = options.trace ?? false
    this.redis = new SimRedis(this.scheduler, this.random)
    this.store = new SimStore(this.scheduler, this.random, options)
    this.network = new SimNetwork(this.scheduler, this.random, options)
    this.selfFence = options.selfFence ?? this.random.chance(0.7)
    this.#brokenSelfFence = options.brokenSelfFence ?? false
    // Small limits in some runs, to check that refused commands are never executed.
    this.smallLimits = options.smallLimits ?? this.random.chance(0.3)
    const count = options.nodes ?? this.random.integer(2, 3)
    for (let index = 0; index < count; index += 1) this.slots.push(this.#slot(`node${index}:1`))
    for (const slot of this.slots) this.start(slot)
  }

  /** Adds a step to the trace and to the digest, which shows whether two runs were identical. */
  note(text: string): void {
    const line = `${this.scheduler.now.toFixed(3)} ${text}`
    this.#digest.update(line)
    if (this.#trace) this.lines.push(line)
  }

  digest(): string {
    return this.#digest.copy().digest('hex')
  }

  start(slot: Slot): void {
    const { random, scheduler } = this
    slot.process = new SimProcess(slot.name, scheduler, random.between(0.995, 1.005), random.between(0, 1e6))
    const { process } = slot
    const starting = ClusterActors.start({
      host: this.store.hostFor(process, () => !this.selfFence || this.redis.trusts(process)),
      codec: jsonCodec,
      store: this.redis.storeFor(process),
      transport: this.network.transportFor(process),
      secret: SECRET,
      clock: process.clock,
      random,
      selfFence: this.selfFence && !this.#brokenSelfFence,
      limits: { ...(this.smallLimits && SMALL), idleMs: 3_000 },
    })
    const settle = async () => {
      const actors = await starting
      if (slot.process === process) slot.actors = actors
    }
    void settle()
  }

  crash(slot: Slot): void {
    const { process } = slot
    process.crash()
    slot.actors = undefined
    this.network.crashed(process)
    this.store.crashed(process)
  }

  /** Stops a node gracefully and then ends its process. Calls `ended` afterwards. */
  stop(slot: Slot, ended: (tookMs: number) => void): void {
    const { actors, process } = slot
    if (actors === undefined) return
    slot.actors = undefined
    const began = this.scheduler.now
    const end = async () => {
      await actors.close(1_000)
      const took = this.scheduler.now - began
      process.crash()
      this.network.crashed(process)
      this.store.crashed(process)
      ended(took)
    }
    void end()
  }

  /** Sends a command of a client to its node. */
  send(slot: Slot, actor: string, kind: SimPayload['kind'], withinMs: number): Operation | undefined {
    const { actors, process } = slot
    if (actors === undefined || process.crashed) return undefined
    const operation: Operation = {
      id: `op${this.operations.length}`,
      actor,
      node: slot.name,
      process,
      kind,
      deadline: process.clock.monotonic() + withinMs,
      result: undefined,
      value: undefined,
      settledAt: 0,
    }
    this.operations.push(operation)
    process.deliver(() => {
      actors
        .run({
          actor,
          operationId: operation.id,
          caller: `caller${this.operations.length % 3}`,
          deadline: operation.deadline,
          priority: this.operations.length % 10 === 0 ? 'control' : 'normal',
          payload: { kind } satisfies SimPayload,
        })
        .then(
          (value) => this.#settled(operation, 'acknowledged', value),
          (error: unknown) => this.#settled(operation, resultOf(error), undefined),
        )
    })
    return operation
  }

  #settled(operation: Operation, result: Result, value: unknown): void {
    operation.result = result
    operation.value = value
    operation.settledAt = operation.process.clock.monotonic()
    this.note(`${operation.id} ${operation.actor} at ${operation.node}: ${result} ${String(value)}`)
  }

  #slot(name: string): Slot {
    return { name, process: new SimProcess(name, this.scheduler, 1, 0), actors: undefined }
  }
}

function resultOf(error: unknown): Result {
  if (error instanceof RefusedError) return error.reason
  return (error as Error).name === 'UnavailableError' ? 'unavailable' : 'failed'
}
