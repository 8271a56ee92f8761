import type { Static, TSchema } from 'typebox'
import type { Audience, EventType, WorkspaceEvent } from '../core/event.ts'
import type { JobDeclaration, JobOptions } from '../core/job.ts'
import type { InsertTarget, MemoryKey, RowToInsert, Turn } from '../core/turn.ts'
import type { ActivationMemory } from './actor-memory.ts'
import { PendingRows, TurnSql, type Batch } from './batch.ts'

/** Makes the jobs that turns add. */
export interface JobOutlet {
  /** @throws Error when the data does not fit the job */
  make<S extends TSchema>(
    declared: JobDeclaration<S>,
    data: Static<S>,
    options: JobOptions & { readonly workspaceId: string },
  ): RowToInsert & { readonly id: string }
  wake(): void
}

/**
 * The turn that a handler gets, and what it has collected by its end. It is a class, because an object literal with a
 * getter makes V8 create a new hidden class at each evaluation. That keeps the turn and its request in memory until the
 * next full garbage collection.
 */
export class RunningTurn implements Turn {
  readonly workspaceId: string
  readonly caller: Turn['caller']
  readonly sql: TurnSql
  /** Rows to insert. */
  readonly own = new PendingRows()
  readonly audits: Parameters<Turn['audit']>[0][] = []
  readonly at: string
  readonly #batch: Batch
  readonly #memory: ActivationMemory
  readonly #jobs: JobOutlet
  readonly #seq: number
  readonly #events: WorkspaceEvent[] = []
  #numbered = 0
  readonly #after: (() => void | Promise<void>)[] = []
  readonly #settled: (() => void)[] = []
  readonly #restorable: (() => () => void)[] = []
  /** For each part that runs, the outer one first: what restores the state that it has found. */
  readonly #parts: (() => void)[][] = []
  #withJobs = false

  constructor(options: {
    readonly workspaceId: string
    readonly caller?: Turn['caller']
    readonly batch: Batch
    readonly memory: ActivationMemory
    readonly jobs: JobOutlet
    /** The number of the workspace's newest event before this batch. */
    readonly seq: number
    /** The time of everything that the turn writes, ISO 8601. */
    readonly at: string
  }) {
    this.workspaceId = options.workspaceId
    this.caller = options.caller
    this.at = options.at
    this.#batch = options.batch
    this.#memory = options.memory
    this.#jobs = options.jobs
    this.#seq = options.seq
    this.sql = new TurnSql(options.batch, this.own)
  }

  insert<N extends object>(table: InsertTarget<N>, row: N): void {
    this.own.add(table.toInsert(row))
  }

  memory<T>(key: MemoryKey<T>): T {
    return this.#memory.get(key)
  }

  settled(action: () => void): void {
    this.#settled.push(action)
  }

  async attempt<T>(part: () => Promise<T>, { undo = false }: { readonly undo?: boolean } = {}): Promise<T> {
    // Inserts the rows that wait, so that those that wait later are of this part.
    await this.sql.run('savepoint part')
    this.#parts.push([this.#mark(), ...this.#restorable.map((take) => take())])
    try {
      const result = await part()
      if (undo) await this.#undo()
      else await this.sql.run('release savepoint part')
      return result
    } catch (error) {
      await this.#undo()
      throw error
    } finally {
      this.#parts.pop()
    }
  }

  restorable(take: () => () => void): void {
    this.#restorable.push(take)
    for (const part of this.#parts) part.push(take())
  }

  /** @returns what forgets everything that the turn has collected since */
  #mark(): () => void {
    const lists: unknown[][] = [this.#events, this.audits, this.#after, this.#settled, this.#restorable]
    const lengths = lists.map(({ length }) => length)
    const numbered = this.#numbered
    return () => {
      for (const [index, list] of lists.entries()) list.length = lengths[index] as number
      this.#numbered = numbered
    }
  }

  async #undo(): Promise<void> {
    this.own.take()
    await this.sql.run('rollback to savepoint part')
    await this.sql.run('release savepoint part')
    for (const restore of this.#parts.at(-1) ?? []) restore()
  }

  emit(type: EventType, data: unknown, only?: Audience): void {
    if (type.stored !== false) this.#numbered += 1
    const seq = type.stored === false ? 0 : this.#seq + this.#batch.numbered + this.#numbered
    this.#events.push({ workspaceId: this.workspaceId, seq, type: type.name, data, at: this.at, ...only })
  }

  job<S extends TSchema>(declared: JobDeclaration<S>, data: Static<S>, options?: JobOptions): string {
    const job = this.#jobs.make(declared, data, { ...options, workspaceId: this.workspaceId })
    this.own.add(job)
    this.#withJobs = true
    return job.id
  }

  audit(target: Parameters<Turn['audit']>[0]): void {
    this.audits.push(target)
  }

  afterCommit(action: () => void | Promise<void>): void {
    this.#after.push(action)
  }

  /** Adds what the turn has collected to its batch. */
  succeed(): void {
    const batch = this.#batch
    batch.pending.addAll(this.own)
    batch.events.push(...this.#events)
    batch.numbered += this.#numbered
    batch.afterCommit.push(...this.#after)
    if (this.#withJobs) batch.afterCommit.push(() => this.#jobs.wake())
    for (const action of this.#settled) action()
  }
}
