import { dropOldest } from '../tools/drop-oldest.ts'
import type { MemoryKey } from '../core/turn.ts'

/** How many actors have a memory at most. The least recently used one is dropped first. */
const MAX_ACTORS = 4_096

/** What the turns of one activation remember, by key. See `Turn.memory`. */
export class ActivationMemory {
  readonly epoch: number
  /** The number of the workspace's newest event after the last commit. Undefined before the first commit. */
  seq: number | undefined
  /** The last batch that was committed. Undefined before the first commit, and when the last outcome is unknown. */
  batch: string | undefined
  readonly #values = new Map<MemoryKey<unknown>, unknown>()

  constructor(epoch: number, batch?: string) {
    this.epoch = epoch
    this.batch = batch
  }

  get<T>(key: MemoryKey<T>): T {
    let value = this.#values.get(key) as T | undefined
    if (value === undefined) {
      value = key.make()
      this.#values.set(key, value)
    }
    return value
  }
}

/**
 * The memories of actors. A memory is dropped when a batch is rolled back, and when the epoch changes, because another
 * node may have written in between.
 */
export class ActorMemories {
  readonly #memories = new Map<string, ActivationMemory>()

  of(actor: string, epoch: number): ActivationMemory {
    const known = this.#memories.get(actor)
    this.#memories.delete(actor)
    const memory = known?.epoch === epoch ? known : new ActivationMemory(epoch)
    this.#memories.set(actor, memory)
    dropOldest(this.#memories, MAX_ACTORS)
    return memory
  }

  /** Drops what turns remember. The last batch stays known, to notice when the database loses it. */
  forget(actor: string): void {
    const known = this.#memories.get(actor)
    if (known) this.#memories.set(actor, new ActivationMemory(known.epoch, known.batch))
  }

  forgetAll(): void {
    for (const actor of this.#memories.keys()) this.forget(actor)
  }

  /** Records the last batch, also if the actor was told to forget while the batch ran. */
  committed(actor: string, epoch: number, batch: string): void {
    const known = this.#memories.get(actor)
    if (known?.epoch === epoch) known.batch = batch
  }

  /** Drops the last batch as well. */
  drop(actor: string): void {
    this.#memories.delete(actor)
  }
}
