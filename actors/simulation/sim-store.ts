import { BatchError, FencedError, UnknownOutcomeError, type ActorHost, type Command, type Outcome } from '../types.ts'
import type { SimProcess } from './process.ts'
import type { SeededRandom } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** The server ends a transaction after this time without a message from the client. */
const IDLE_TRANSACTION_MS = 3_000
const CLIENT_TIMEOUT_MS = 3_500

export interface LogEntry {
  readonly seq: number
  readonly op: string
  readonly epoch: number
  readonly node: string
}

export interface SimPayload {
  readonly kind: 'append' | 'refuse' | 'poison'
}

interface Row {
  epoch: number
  holder: Transaction | undefined
  readonly waiting: (() => void)[]
  readonly log: LogEntry[]
}

interface Transaction {
  readonly process: SimProcess
  open: boolean
  lastMessageAt: number
  row: Row | undefined
}

export interface SimStoreFlaws {
  /** Does not check the epoch. */
  readonly brokenFence?: boolean
  /** Does not look up repeated operations. */
  readonly brokenMemory?: boolean
}

class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
}

/** The database: rows with locks, transactions that may end before their clients, and commits whose reply is lost. */
export class SimStore {
  readonly #scheduler: Scheduler
  readonly #random: SeededRandom
  readonly #flaws: SimStoreFlaws
  readonly rows = new Map<string, Row>()
  readonly outcomes = new Map<string, number>()
  readonly #transactions = new Set<Transaction>()
  readonly #cutOff = new Set<string>()
  #downUntil = 0
  #slowUntil = 0
  readonly violations: string[] = []
  readonly #watched = new Map<SimProcess, (actor: string) => void>()

  constructor(scheduler: Scheduler, random: SeededRandom, flaws: SimStoreFlaws) {
    this.#scheduler = scheduler
    this.#random = random
    this.#flaws = flaws
  }

  /** Unavailable for a while. Committed data is kept. */
  restart(ms: number): void {
    this.#downUntil = this.#scheduler.now + ms
    for (const transaction of this.#transactions) this.#end(transaction)
  }

  /** Calls `action` after the next claim or batch of a process was committed, before the reply arrives. */
  atNextCommit(process: SimProcess, action: (actor: string) => void): void {
    this.#watched.set(process, action)
  }

  slowDown(ms: number): void {
    this.#slowUntil = this.#scheduler.now + ms
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

  crashed(process: SimProcess): void {
    for (const transaction of this.#transactions) {
      if (transaction.process !== process) continue
      this.#scheduler.after(this.#random.between(0, 5), () => this.#end(transaction))
    }
  }

  hostFor(process: SimProcess, mayExecute: () => boolean): ActorHost {
    return {
      remembersOutcomes: true,
      activate: (actor) => this.#activate(process, actor),
      execute: (actor, epoch, commands) => {
        if (!mayExecute()) this.violations.push(`${process.name} began a batch of ${actor} without a lease`)
        return this.#execute(process, actor, epoch, commands)
      },
      probe: async () => {
        const transaction = this.#begin(process)
        await this.#toStore(transaction)
        await this.#toClient(transaction)
        this.#end(transaction)
      },
    }
  }

  async #activate(process: SimProcess, actor: string): Promise<number> {
    const transaction = this.#begin(process)
    await this.#toStore(transaction)
    const row = this.#row(actor)
    await this.#lock(transaction, row)
    row.epoch += 1
    const { epoch } = row
    this.#end(transaction)
    this.#committed(process, actor)
    await this.#toClient(transaction)
    return epoch
  }

  async #execute(
    process: SimProcess,
    actor: string,
    epoch: number,
    commands: readonly Command[],
  ): Promise<readonly Outcome[]> {
    const transaction = this.#begin(process)
    let committing = false
    try {
      await this.#toStore(transaction)
      const row = this.#row(actor)
      await this.#lock(transaction, row)
      const fenced = row.epoch !== epoch && !this.#flaws.brokenFence
      await this.#toClient(transaction)
      if (fenced) throw new FencedError(`the epoch of ${actor} is no longer ${epoch}`)
      const { outcomes, staged } = this.#work(row, commands, epoch, process.name)
      for (let step = this.#random.integer(0, 1); step > 0; step -= 1) {
        await this.#toStore(transaction)
        await this.#toClient(transaction)
      }
      committing = true
      await this.#toStore(transaction)
      if (row.epoch !== epoch) this.violations.push(`${process.name} wrote to ${actor} after it had been replaced`)
      row.log.push(...staged)
      for (const { op, seq } of staged) this.outcomes.set(op, seq)
      this.#end(transaction)
      this.#committed(process, actor)
      await this.#toClient(transaction)
      return outcomes
    } catch (error) {
      if (!committing) this.#leave(transaction)
      if (!(error instanceof UnavailableError)) throw error
      throw committing ? new UnknownOutcomeError(error) : new BatchError(error)
    }
  }

  #committed(process: SimProcess, actor: string): void {
    const action = this.#watched.get(process)
    this.#watched.delete(process)
    action?.(actor)
  }

  #work(row: Row, commands: readonly Command[], epoch: number, node: string) {
    const outcomes: Outcome[] = []
    const staged: LogEntry[] = []
    for (const { operationId: op, payload, repeated } of commands) {
      const known = repeated && !this.#flaws.brokenMemory ? this.outcomes.get(op) : undefined
      const { kind } = payload as SimPayload
      if (known !== undefined) outcomes.push({ ok: true, value: known })
      else if (kind === 'refuse') outcomes.push({ ok: false, error: new Error('refused') })
      else if (kind === 'poison') throw new Error('poison')
      else {
        const seq = row.log.length + staged.length + 1
        staged.push({ seq, op, epoch, node })
        outcomes.push({ ok: true, value: seq })
      }
    }
    return { outcomes, staged }
  }

  #row(actor: string): Row {
    let row = this.rows.get(actor)
    if (row === undefined) this.rows.set(actor, (row = { epoch: 0, holder: undefined, waiting: [], log: [] }))
    return row
  }

  #begin(process: SimProcess): Transaction {
    const transaction = { process, open: true, lastMessageAt: this.#scheduler.now, row: undefined }
    this.#transactions.add(transaction)
    return transaction
  }

  async #lock(transaction: Transaction, row: Row): Promise<void> {
    while (row.holder !== undefined) await new Promise<void>((resolve) => void row.waiting.push(resolve))
    if (!transaction.open) {
      row.waiting.shift()?.()
      await this.#toClient(transaction)
      throw new UnavailableError('Connection terminated')
    }
    row.holder = transaction
    transaction.row = row
  }

  #end(transaction: Transaction): void {
    if (!transaction.open) return
    transaction.open = false
    this.#transactions.delete(transaction)
    const { row } = transaction
    if (row?.holder !== transaction) return
    row.holder = undefined
    // In a separate step, so that the commit is visible before the next transaction gets the lock.
    this.#scheduler.after(0, () => row.waiting.shift()?.())
  }

  /** The client rolls back or disconnects. */
  #leave(transaction: Transaction): void {
    if (this.#cutOff.has(transaction.process.name)) return
    this.#scheduler.after(this.#latency(), () => this.#end(transaction))
  }

  #latency(): number {
    if (this.#scheduler.now < this.#slowUntil && this.#random.chance(0.2)) return this.#random.between(50, 4_500)
    return this.#random.between(0.1, 2)
  }

  /** Sends a message to the store. It is lost if the connection is cut off. The client then times out. */
  #toStore(transaction: Transaction): Promise<void> {
    const { process } = transaction
    return new Promise((resolve, reject) => {
      const cancel = process.clock.after(CLIENT_TIMEOUT_MS, () => reject(new UnavailableError('Query read timeout')))
      this.#scheduler.after(this.#latency(), () => {
        if (this.#cutOff.has(process.name)) return
        if (!transaction.open || this.#scheduler.now < this.#downUntil) {
          this.#scheduler.after(1, () =>
            process.deliver(() => {
              cancel()
              reject(new UnavailableError('Connection terminated'))
            }),
          )
          return
        }
        cancel()
        transaction.lastMessageAt = this.#scheduler.now
        resolve()
      })
    })
  }

  #toClient(transaction: Transaction): Promise<void> {
    const { process } = transaction
    const { lastMessageAt } = transaction
    this.#scheduler.after(IDLE_TRANSACTION_MS, () => {
      if (transaction.open && transaction.lastMessageAt === lastMessageAt) this.#end(transaction)
    })
    return new Promise((resolve, reject) => {
      const cancel = process.clock.after(CLIENT_TIMEOUT_MS, () => reject(new UnavailableError('Query read timeout')))
      this.#scheduler.after(this.#latency(), () => {
        if (this.#cutOff.has(process.name) || this.#scheduler.now < this.#downUntil) return
        process.deliver(() => {
          cancel()
          resolve()
        })
      })
    })
  }
}
