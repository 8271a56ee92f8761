import type { Clock } from '../core/clock.ts'
import { AttemptLostError, QUEUE_NAMES, type QueueName } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import { FINISH, Ledger, NOT_WAITED_FOR, type AttemptKey, type StartedRow } from './ledger.ts'
import type { NewRow } from './rows.ts'

/** A row that was claimed to be given to the backend. */
export interface DueRow {
  readonly id: string
  readonly name: string
  readonly queue: QueueName
  readonly workspace_id: string | null
  readonly run_at: string
  /** Times it was given to the backend, this one included. */
  readonly added: number
}

/** A row that was given to the backend. */
export interface GivenRow {
  readonly id: string
  readonly queue: string
  readonly state: 'queued' | 'running'
  readonly attempts: number
}

/** A job that has ended, as far as it is still known. */
export interface EndedJob {
  readonly id: string
  readonly name: string
  readonly workspace_id: string | null
  readonly state: 'done' | 'dead'
  readonly reason: string | null
  readonly attempts: number
}

/** One statement for one row or many; a key that waits already wins over the new one. */
const INSERT = `
  insert into outbox (id, name, queue, workspace_id, line, key, data, state, run_at, attempts, added, created_at, updated_at)
  select id, name, queue, workspace_id, line, key, data, state, run_at, attempts, added, created_at, updated_at
  from json_populate_recordset(null::outbox, $1::json) on conflict do nothing`

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

  async insert(sql: Sql, rows: readonly NewRow[]): Promise<void> {
    await sql.run(INSERT, [JSON.stringify(rows)])
  }

  /**
   * Takes rows of queues that are not fair that are due, oldest first. No other node gets them. Rows of a queue that
   * this version does not have go to `default`.
   */
  async claimDue(limit: number): Promise<DueRow[]> {
    const rows = await this.#sql.rows<DueRow>(
      `with due as (
         select id from outbox where state = 'waiting' and line is null and run_at <= $1
         order by run_at limit $2 for update skip locked)
       update outbox o set state = 'queued', added = o.added + 1, updated_at = $1,
         queue = case when o.queue = any($3) then o.queue else 'default' end
       from due, ${NOT_WAITED_FOR} where o.id = due.id
       returning o.id, o.name, o.queue, o.workspace_id, o.run_at, o.added`,
      [this.#now(), limit, QUEUE_NAMES],
    )
    return rows.sort((a, b) => (a.run_at === b.run_at ? (a.id < b.id ? -1 : 1) : a.run_at < b.run_at ? -1 : 1))
  }

  /** When the next row is due. Rows of fair queues that are due already wait for room, not for a time. */
  async nextDue(): Promise<number | undefined> {
    const row = await this.#sql.row<{ at: string | null }>(
      `select least(
         (select min(run_at) from outbox where state = 'waiting' and line is null),
         (select min(run_at) from outbox where state = 'waiting' and line is not null and run_at > $1)) as at`,
      [this.#now()],
    )
    return row?.at == null ? undefined : Date.parse(row.at)
  }

  /** Puts rows back that were claimed and could not be given to the backend. */
  async giveBack(ids: readonly string[]): Promise<number> {
    return this.#sql.run(
      `update outbox set state = 'waiting', updated_at = $2 where id = any($1) and state = 'queued'`,
      [ids, this.#now()],
    )
  }

  /** Puts everything back that has been given to a backend which has lost it all. */
  async giveAllBack(): Promise<number> {
    return this.#sql.run(`update outbox set state = 'waiting', updated_at = $1 where state = 'queued'`, [this.#now()])
  }

  /** Which of these queues the backend has jobs of. */
  async queuesInUse(queues: readonly string[]): Promise<string[]> {
    const rows = await this.#sql.rows<{ queue: string }>(
      `select q as queue from unnest($1::text[]) q
       where exists (select 1 from outbox where queue = q and state in ('queued', 'running'))`,
      [queues],
    )
    return rows.map(({ queue }) => queue)
  }

  /** Rows that were given to the backend some time ago, page by page in the order of their ids. */
  async givenBefore(before: Date, after: string | undefined, limit: number): Promise<GivenRow[]> {
    return this.#sql.rows(
      `select id, queue, state, attempts from outbox
       where state in ('queued', 'running') and updated_at < $1 and ($2::uuid is null or id > $2)
       order by id limit $3`,
      [before, after ?? null, limit],
    )
  }

  /** Puts rows back that the backend was seen not to have, but those that have got on meanwhile. @returns how many */
  async giveBackLost(rows: readonly GivenRow[]): Promise<number> {
    return this.#sql.run(
      `update outbox o set state = 'waiting', updated_at = $4
       from unnest($1::uuid[], $2::text[], $3::integer[]) as seen (id, state, attempts)
       where o.id = seen.id and o.state = seen.state and o.attempts = seen.attempts`,
      [rows.map(({ id }) => id), rows.map(({ state }) => state), rows.map(({ attempts }) => attempts), this.#now()],
    )
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
    return this.#sql.row<EndedJob>(
      `select id, name, workspace_id, 'done' as state, null as reason, attempts from finished_jobs where id = $1
       union all
       select id, name, workspace_id, state, reason, attempts from outbox where id = $1 and state = 'dead'`,
      [id],
    )
  }

  /** Whether it was this attempt that ended its job well: its effect was committed, or the answer to that was lost. */
  async isDoneBy({ id, attempts }: { readonly id: string; readonly attempts: number }): Promise<boolean> {
    const ended = await this.ended(id)
    return ended?.state === 'done' && ended.attempts === attempts
  }

  /** The same as `finish` within a transaction. @throws AttemptLostError */
  async finishIn(sql: Sql, { id, attemptId }: AttemptKey): Promise<void> {
    const done = await sql.rows(FINISH, [[id], [attemptId], this.#now()])
    if (done.length === 0) throw new AttemptLostError('another attempt has taken over, or the job was removed')
  }

  /**
   * Notes a failure: to be run again at a time, or dead. The next try of a fair queue waits in its line.
   * @returns false when the attempt is not the newest any more
   */
  async fail({ id, attemptId }: AttemptKey, reason: string, again: Date | undefined): Promise<boolean> {
    const changed = await this.#sql.run(
      `update outbox set state = case when $3 = 'queued' and line is not null then 'waiting' else $3 end, reason = $4,
         run_at = coalesce($5::timestamptz, run_at), attempt_id = null,
         updated_at = $6
       where id = $1 and attempt_id = $2`,
      [id, attemptId, again === undefined ? 'dead' : 'queued', reason, again ?? null, this.#now()],
    )
    return changed > 0
  }

  /** Gives up an attempt that the shutdown of its node ended: it does not count. */
  async handBack({ id, attemptId }: AttemptKey): Promise<boolean> {
    const changed = await this.#sql.run(
      `update outbox set state = 'queued', attempts = attempts - 1, attempt_id = null, updated_at = $3
       where id = $1 and attempt_id = $2`,
      [id, attemptId, this.#now()],
    )
    return changed > 0
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}
