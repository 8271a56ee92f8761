import { sql, type Kysely } from 'kysely'
import type { Clock } from '../core/clock.ts'
import { AttemptLostError, QUEUE_NAMES, type QueueName } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import { anyOf } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { increment } from '../db/increment.ts'
import { query, type DatabaseOf } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import { finishAttempts, Ledger, notWaitedFor, type AttemptKey, type StartedRow } from './ledger.ts'
import type { NewJob } from './rows.ts'
import { finishedJobs, outbox, type OutboxRow } from './tables.ts'

type Columns<K extends keyof Row<typeof OutboxRow>> = Readonly<Pick<Row<typeof OutboxRow>, K>>

const DUE = ['id', 'name', 'queue', 'workspaceId', 'runAt', 'added'] as const

/** A row that was claimed for the backend. `added` includes this claim. */
export interface DueRow extends Columns<Exclude<(typeof DUE)[number], 'queue'>> {
  readonly queue: QueueName
}

/** The columns of a `DueRow` that a claim returns, where `o` is the row. */
export const DUE_COLUMNS = outbox.selection('o', DUE)

/** A row that was added to the backend. */
export type GivenRow = Columns<'id' | 'queue' | 'state' | 'attempts'>

/** What is still known of a job that has ended. */
export interface EndedJob {
  readonly id: string
  readonly name: string
  readonly workspaceId: string | null
  readonly state: 'done' | 'dead'
  readonly reason: string | null
  readonly attempts: number
}

/** Claims due rows that are in no line, oldest first. */
const claimDue = query({ outbox }, (db, $: { now: Date; limit: number; queues: readonly string[] }) =>
  db
    .with('due', (due) =>
      due
        .selectFrom('outbox')
        .select('id')
        .where(sql<boolean>`state = 'waiting'`)
        .where('line', 'is', null)
        .where('runAt', '<=', sql<string>`${$.now}`)
        .orderBy('runAt')
        .limit($.limit)
        .forUpdate()
        .skipLocked(),
    )
    .updateTable('outbox as o')
    .from(['due', notWaitedFor])
    .set((e) => ({
      state: 'queued',
      added: e('o.added', '+', 1),
      updatedAt: $.now,
      queue: sql<string>`case when o.queue = any(${$.queues}) then o.queue else 'default' end`,
    }))
    .whereRef('o.id', '=', 'due.id')
    .returning(DUE.map((column) => `o.${column}` as const)),
)

const nextRun = query({ outbox }, (db, $: { now: Date }) => {
  const waiting = db
    .selectFrom('outbox')
    .select((e) => e.fn.min('runAt').as('at'))
    .where(sql<boolean>`state = 'waiting'`)
  return db.selectNoFrom((e) =>
    e
      .fn<string | null>('least', [
        waiting.where('line', 'is', null),
        waiting.where('line', 'is not', null).where('runAt', '>', sql<string>`${$.now}`),
      ])
      .as('at'),
  )
})

const usedQueues = query({ outbox }, (db, $: { queues: readonly string[] }) =>
  db
    .selectFrom(sql<{ queue: string }>`unnest(${$.queues}::text[])`.as<'q'>(sql`q (queue)`))
    .select('q.queue')
    .where((e) => e.exists(given(db).select('o.id').where('o.queue', '=', e.ref('q.queue')))),
)

const givenRows = query({ outbox }, (db, $: { before: Date; after?: string | undefined; limit: number }) => {
  const found = given(db)
    .select(['o.id', 'o.queue', 'o.state', 'o.attempts'])
    .where('o.updatedAt', '<', sql<string>`${$.before}`)
    .orderBy('o.id')
    .limit($.limit)
  return $.after === undefined ? found : found.where('o.id', '>', $.after)
})

/** Rows that the backend has. The states are literals, because PostgreSQL does not use the partial index with parameters. */
function given(db: Kysely<DatabaseOf<{ outbox: typeof outbox }>>) {
  return db.selectFrom('outbox as o').where(sql<boolean>`o.state in ('queued', 'running')`)
}

interface SeenRows {
  readonly ids: readonly string[]
  readonly states: readonly string[]
  readonly attempts: readonly number[]
  readonly now: Date
}

const returnUnchanged = query({ outbox }, (db, $: SeenRows) =>
  db
    .updateTable('outbox as o')
    .from(
      sql<{ id: string; state: GivenRow['state']; attempts: number }>`
        unnest(${$.ids}::uuid[], ${$.states}::text[], ${$.attempts}::integer[])`.as<'seen'>(
        sql`seen (id, state, attempts)`,
      ),
    )
    .set({ state: 'waiting', updatedAt: $.now })
    .whereRef('o.id', '=', 'seen.id')
    .whereRef('o.state', '=', 'seen.state')
    .whereRef('o.attempts', '=', 'seen.attempts'),
)

interface Failure {
  readonly id: string
  readonly attemptId: string
  readonly reason: string
  /** When the job runs again. If it is missing, the job is dead. */
  readonly again?: Date | undefined
  readonly now: Date
}

const markFailed = query({ outbox }, (db, $: Failure) =>
  db
    .updateTable('outbox')
    .set({
      state:
        $.again === undefined
          ? 'dead'
          : sql<'queued' | 'waiting'>`case when line is null then 'queued' else 'waiting' end`,
      reason: $.reason,
      ...($.again !== undefined && { runAt: $.again }),
      attemptId: null,
      updatedAt: $.now,
    })
    .where('id', '=', $.id)
    .where('attemptId', '=', $.attemptId),
)

/** The statements on the outbox. Concurrent claims and ends of jobs share a statement. */
export class Outbox {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #ledger: Ledger

  constructor(database: Database, clock: Clock) {
    this.#sql = database
    this.#clock = clock
    this.#ledger = new Ledger(database, clock)
  }

  /** Inserts jobs. A job whose key is already waiting is skipped. */
  async insert(tx: Sql, rows: readonly NewJob[]): Promise<void> {
    await outbox.insertAll(tx, rows, { ignoreConflict: true })
  }

  /**
   * Claims due rows of queues that are not fair, oldest first. No other node gets them. Rows of a queue that
   * this version does not have are moved to `default`.
   */
  async claimDue(limit: number): Promise<DueRow[]> {
    const rows = await claimDue.rows(this.#sql, { now: this.#now(), limit, queues: QUEUE_NAMES })
    return (rows as DueRow[]).sort((a, b) =>
      a.runAt === b.runAt ? (a.id < b.id ? -1 : 1) : a.runAt < b.runAt ? -1 : 1,
    )
  }

  /** When the next row is due. Due rows of fair queues do not count, because they wait for the backend, not for a time. */
  async nextDue(): Promise<number | undefined> {
    const row = await nextRun.row(this.#sql, { now: this.#now() })
    return row?.at == null ? undefined : Date.parse(row.at)
  }

  /** Releases claimed rows that could not be added to the backend. */
  async unclaim(ids: readonly string[]): Promise<number> {
    const changes = { state: 'waiting', updatedAt: this.#now() } as const
    return outbox.update(this.#sql, { id: anyOf(ids), state: 'queued' }, changes)
  }

  /** Requeues all rows of a backend that has lost everything. */
  async requeueAll(): Promise<number> {
    return outbox.update(this.#sql, { state: 'queued' }, { state: 'waiting', updatedAt: this.#now() })
  }

  /** The queues among these of which the backend has jobs. */
  async queuesInUse(queues: readonly string[]): Promise<string[]> {
    const rows = await usedQueues.rows(this.#sql, { queues })
    return rows.map(({ queue }) => queue)
  }

  /** A page of rows that were added to the backend before a time, in the order of their ids. */
  async queuedBefore(before: Date, after: string | undefined, limit: number): Promise<GivenRow[]> {
    return givenRows.rows(this.#sql, { before, after, limit })
  }

  /** Requeues rows that the backend does not have, unless they have changed since. @returns how many */
  async requeueLost(rows: readonly GivenRow[]): Promise<number> {
    return returnUnchanged.run(this.#sql, {
      ids: rows.map(({ id }) => id),
      states: rows.map(({ state }) => state),
      attempts: rows.map(({ attempts }) => attempts),
      now: this.#now(),
    })
  }

  /** Starts an attempt, which invalidates all earlier ones. Undefined when the job is done, dead or deleted. */
  start(id: string, attemptId: string): Promise<StartedRow | undefined> {
    return this.#ledger.start({ id, attemptId })
  }

  /** Ends a job that succeeded. False when a newer attempt exists. */
  finish(id: string, attemptId: string): Promise<boolean> {
    return this.#ledger.finish({ id, attemptId })
  }

  /** How a job has ended. Undefined when it has not ended, or was deleted. */
  async ended(id: string): Promise<EndedJob | undefined> {
    const columns = ['id', 'name', 'workspaceId', 'attempts'] as const
    const done = await finishedJobs.first(this.#sql, { id }, { columns })
    if (done !== undefined) return { ...done, state: 'done', reason: null }
    const dead = await outbox.first(this.#sql, { id, state: 'dead' }, { columns: [...columns, 'reason'] })
    return dead && { ...dead, state: 'dead' }
  }

  /** Whether this attempt ended the job with success, for example when its effect was committed but the reply was lost. */
  async isDoneBy({ id, attempts }: { readonly id: string; readonly attempts: number }): Promise<boolean> {
    const ended = await this.ended(id)
    return ended?.state === 'done' && ended.attempts === attempts
  }

  /** Like `finish`, within a transaction. @throws AttemptLostError */
  async finishIn(tx: Sql, { id, attemptId }: AttemptKey): Promise<void> {
    const done = await finishAttempts.run(tx, { ids: [id], attemptIds: [attemptId], now: this.#now() })
    if (done === 0) throw new AttemptLostError('a newer attempt has started, or the job was deleted')
  }

  /**
   * Stores a failure. The job is retried at a time, or is dead. Retries of a fair queue wait in their line.
   * @returns false when a newer attempt exists
   */
  async fail({ id, attemptId }: AttemptKey, reason: string, again: Date | undefined): Promise<boolean> {
    return (await markFailed.run(this.#sql, { id, attemptId, reason, again, now: this.#now() })) > 0
  }

  /** Undoes an attempt that the shutdown of its node ended. It does not count. */
  async handBack({ id, attemptId }: AttemptKey): Promise<boolean> {
    const changes = { state: 'queued', attempts: increment(-1), attemptId: null, updatedAt: this.#now() } as const
    return (await outbox.update(this.#sql, { id, attemptId }, changes)) > 0
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}
