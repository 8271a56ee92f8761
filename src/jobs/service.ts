import type { Static, TSchema } from 'typebox'
import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import type { AnyJob, JobDeclaration, JobOptions, Jobs } from '../core/job.ts'
import type { SealedBox } from '../tools/sealed-box.ts'
import type { Sql, Transaction } from '../core/sql.ts'
import type { RowToInsert } from '../core/turn.ts'
import type { Database } from '../db/database.ts'
import { Outbox } from './outbox.ts'
import { JobRows, type NewJob } from './rows.ts'
import { outbox } from './tables.ts'

/** Notice that makes nodes with the role `jobs` read the outbox. */
export const JOBS_ADDED = 'jobs.added'

/** Adds jobs. Available on every node. */
export class JobService implements Jobs {
  readonly outbox: Outbox
  readonly rows: JobRows
  readonly declared: ReadonlyMap<string, AnyJob>
  readonly #coordination: Coordination
  #notified = false

  constructor({
    database,
    clock,
    coordination,
    box,
    declared,
  }: {
    database: Database
    clock: Clock
    coordination: Coordination
    box: SealedBox
    declared: ReadonlyMap<string, AnyJob>
  }) {
    this.outbox = new Outbox(database, clock)
    this.rows = new JobRows(clock, box)
    this.declared = declared
    this.#coordination = coordination
  }

  async add<S extends TSchema>(
    sql: Sql | Transaction,
    declared: JobDeclaration<S>,
    data: Static<S>,
    options: JobOptions & { readonly workspaceId?: string } = {},
  ): Promise<string> {
    const row = this.#make(declared, data, options)
    await this.outbox.insert(sql, [row])
    if ('afterCommit' in sql) sql.afterCommit(() => this.wake())
    else this.wake()
    return row.id
  }

  /** A row for `turn.job`. A key has at most one waiting job. */
  make<S extends TSchema>(
    declared: JobDeclaration<S>,
    data: Static<S>,
    options: JobOptions & { readonly workspaceId?: string | undefined },
  ): RowToInsert & { readonly id: string } {
    const row = this.#make(declared, data, options)
    return { ...outbox.toInsert(row, { ignoreConflict: true }), id: row.id }
  }

  #make<S extends TSchema>(
    declared: JobDeclaration<S>,
    data: Static<S>,
    options: JobOptions & { readonly workspaceId?: string | undefined },
  ): NewJob {
    if (!this.declared.has(declared.name)) throw new Error(`the job ${declared.name} is not registered`)
    return this.rows.make(declared, data, options)
  }

  /** Notifies the nodes that run jobs, once for all commits of an event loop turn. */
  wake(): void {
    if (this.#notified) return
    this.#notified = true
    setImmediate(() => {
      this.#notified = false
      this.#coordination.publish(JOBS_ADDED, {})
    })
  }
}
