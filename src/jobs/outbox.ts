import { sql, type Kysely } from 'kysely'
import type { Clock } from '../core/clock.ts'
import { AttemptLostError, QUEUE_NAMES, type QueueName } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import { anyOf } from '../db/condition.ts'
import type { Database } from '../db/database.ts'
import { increment } from '../db/increment.ts'
import { query, type DatabaseOf } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import { FINISH, Ledger, NOT_WAITED_FOR, type AttemptKey, type StartedRow } from './ledger.ts'
import type { NewJob } from './rows.ts'
import { finishedJobs, outbox, type OutboxRow } from './tables.ts'

type Columns<K extends keyof Row<typeof OutboxRow>> = Readonly<Pick<Row<typeof OutboxRow>, K>>

const DUE = ['id', 'name', 'queue', 'workspaceId', 'runAt', 'added'] as const

/** A row that was claimed to be given to the backend. `added` counts this time. */
export interface DueRow extends Columns<Exclude<(typeof DUE)[number], 'queue'>> {
  readonly queue: QueueName
}

/** The columns of a `DueRow` that a claim returns, where `o` is the row. */
export const DUE_COLUMNS = outbox.selection('o', DUE)

/** A row that was given to the backend. */
export type GivenRow = Columns<'id' | 'queue' | 'state' | 'attempts'>

/** A job that has ended, as far as it is still known. */
export interface EndedJob {
  readonly id: string
  readonly name: string
  readonly workspaceId: string | null
  readonly state: 'done' | 'dead'
  readonly reason: string | null
  readonly attempts: number
}

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

/** Rows that the backend has. The states are literals, as in the index for them: a parameter would not match it. */
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
  /** When it is run again. It is dead when this is missing. */
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

/** The statements on the outbox. Claims and ends of jobs that come together share one. */
export class Outbox {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #ledger: Ledger

  constructor(database: Database, clock: Clock) {
    this.#sql = database
    this.#clock = clock
    this.#ledger = new Ledger(database, clock)
  }

  /** Inserts jobs. One whose key is waiting already is left out. */
  async insert(tx: Sql, rows: readonly NewJob[]): Promise<void> {
    await outbox.insertAll(tx, rows, { ignoreConflict: true })
  }

  /**
   * Takes rows of queues that are not fair that are due, oldest first. No other node gets them. Rows of a queue that
   * this version does not have go to `default`.
   */
  async claimDue(limit: number): Promise<DueRow[]> {
    // Written by hand: a claim with `skip locked` that also sets an option of its transaction.
    const rows = await this.#sql.rows<DueRow>(
      `with due as (
         select id from outbox where state = 'waiting' and line is null and run_at <= $1
         order by run_at limit $2 for update skip locked)
       update outbox o set state = 'queued', added = o.added + 1, updated_at = $1,
         queue = case when o.queue = any($3) then o.queue else 'default' end
       from due, ${NOT_WAITED_FOR} where o.id = due.id
       returning ${DUE_COLUMNS}`,
      [this.#now(), limit, QUEUE_NAMES],
    )
    return rows.sort((a, b) => (a.runAt === b.runAt ? (a.id < b.id ? -1 : 1) : a.runAt < b.runAt ? -1 : 1))
  }

  /** When the next row is due. Rows of fair queues that are due already wait for room, not for a time. */
  async nextDue(): Promise<number | undefined> {
    const row = await nextRun.row(this.#sql, { now: this.#now() })
    return row?.at == null ? undefined : Date.parse(row.at)
  }

  /** Puts rows back that were claimed and could not be given to the backend. */
  async giveBack(ids: readonly string[]): Promise<number> {
    const changes = { state: 'waiting', updatedAt: this.#now() } as const
    return outbox.update(this.#sql, { id: anyOf(ids), state: 'queued' }, changes)
  }

  /** Puts everything back that has been given to a backend which has lost it all. */
  async giveAllBack(): Promise<number> {
    return outbox.update(this.#sql, { state: 'queued' }, { state: 'waiting', updatedAt: this.#now() })
  }

  /** Which of these queues the backend has jobs of. */
  async queuesInUse(queues: readonly string[]): Promise<string[]> {
    const rows = await usedQueues.rows(this.#sql, { queues })
    return rows.map(({ queue }) => queue)
  }

  /** Rows that were given to the backend some time ago, page by page in the order of their ids. */
  async givenBefore(before: Date, after: string | undefined, limit: number): Promise<GivenRow[]> {
    return givenRows.rows(this.#sql, { before, after, limit })
  }

  /** Puts rows back that the backend was seen not to have, but those that have got on meanwhile. @returns how many */
  async giveBackLost(rows: readonly GivenRow[]): Promise<number> {
    return returnUnchanged.run(this.#sql, {
      ids: rows.map(({ id }) => id),
      states: rows.map(({ state }) => state),
      attempts: rows.map(({ attempts }) => attempts),
      now: this.#now(),
    })
  }

  /** Begins an attempt, which ends the right of every earlier one. Undefined when the job is done, dead or removed. */
  start(id: string, attemptId: string): Promise<StartedRow | undefined> {
    return this.#ledger.start({ id, attemptId })
  }

  /** Ends a job that went well. False when the attempt is not the newest any more. */
  finish(id: string, attemptId: string): Promise<boolean> {
    return this.#ledger.finish({ id, attemptId })
  }

  /** How a job has ended; undefined when it has not, or was removed. */
  async ended(id: string): Promise<EndedJob | undefined> {
    const columns = ['id', 'name', 'workspaceId', 'attempts'] as const
    const done = await finishedJobs.first(this.#sql, { id }, { columns })
    if (done !== undefined) return { ...done, state: 'done', reason: null }
    const dead = await outbox.first(this.#sql, { id, state: 'dead' }, { columns: [...columns, 'reason'] })
    return dead && { ...dead, state: 'dead' }
  }

  /** Whether it was this attempt that ended its job well: its effect was committed, or the answer to that was lost. */
  async isDoneBy({ id, attempts }: { readonly id: string; readonly attempts: number }): Promise<boolean> {
    const ended = await this.ended(id)
    return ended?.state === 'done' && ended.attempts === attempts
  }

  /** The same as `finish` within a transaction. @throws AttemptLostError */
  async finishIn(tx: Sql, { id, attemptId }: AttemptKey): Promise<void> {
    const done = await tx.rows(FINISH, [[id], [attemptId], this.#now()])
    if (done.length === 0) throw new AttemptLostError('another attempt has taken over, or the job was removed')
  }

  /**
   * Notes a failure: to be run again at a time, or dead. The next try of a fair queue waits in its line.
   * @returns false when the attempt is not the newest any more
   */
  async fail({ id, attemptId }: AttemptKey, reason: string, again: Date | undefined): Promise<boolean> {
    return (await markFailed.run(this.#sql, { id, attemptId, reason, again, now: this.#now() })) > 0
  }

  /** Gives up an attempt that the shutdown of its node ended: it does not count. */
  async handBack({ id, attemptId }: AttemptKey): Promise<boolean> {
    const changes = { state: 'queued', attempts: increment(-1), attemptId: null, updatedAt: this.#now() } as const
    return (await outbox.update(this.#sql, { id, attemptId }, changes)) > 0
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}
