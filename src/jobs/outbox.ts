import type { Clock } from '../core/clock.ts'
import { AttemptLostError } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import { Batcher } from './batcher.ts'
import type { NewRow } from './rows.ts'

/** A row that was claimed to be given to the backend. */
export interface DueRow {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly workspace_id: string | null
  readonly run_at: string
  /** Times it was given to the backend, this one included. */
  readonly added: number
}

/** A row whose attempt has begun. */
export interface StartedRow {
  readonly id: string
  readonly attempt_id: string
  readonly name: string
  readonly queue: string
  readonly workspace_id: string | null
  readonly data: unknown
  readonly attempts: number
  readonly run_at: string
}

interface AttemptKey {
  readonly id: string
  readonly attemptId: string
}

const AT_ONCE = 200

/** One statement for one row or many; a key that waits already wins over the new one. */
const INSERT = `
  insert into outbox (id, name, queue, workspace_id, key, data, state, run_at, attempts, added, created_at, updated_at)
  select id, name, queue, workspace_id, key, data, state, run_at, attempts, added, created_at, updated_at
  from json_populate_recordset(null::outbox, $1::json) on conflict do nothing`

/**
 * Claims, beginnings and ends are not waited for until they are on disk: a crash of the server that takes them back makes
 * a job run again, as any crash between its work and its end does. Effects are committed with their job, and waited for.
 */
const NOT_WAITED_FOR = `(select set_config('synchronous_commit', 'off', true)) as quick`

const finishOf = (alone: boolean) => `
  with gone as (
    delete from outbox o using unnest($1::uuid[], $2::uuid[]) as s (id, attempt_id)${alone ? `, ${NOT_WAITED_FOR}` : ''}
    where o.id = s.id and o.attempt_id = s.attempt_id returning o.*)
  insert into finished_jobs (id, name, queue, workspace_id, attempts, run_at, started_at, finished_at, created_at)
  select id, name, queue, workspace_id, attempts, run_at, started_at, $3::timestamptz, created_at from gone
  returning id`

const FINISH = finishOf(false)
const FINISH_ALONE = finishOf(true)

/** The statements on the outbox. Claims and ends of jobs that come together share one. */
export class Outbox {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #starts: Batcher<AttemptKey, StartedRow | undefined>
  readonly #ends: Batcher<AttemptKey, boolean>

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
    this.#starts = new Batcher(AT_ONCE, (keys) => this.#start(keys))
    this.#ends = new Batcher(AT_ONCE, (keys) => this.#finish(keys))
  }

  async insert(sql: Sql, rows: readonly NewRow[]): Promise<void> {
    await sql.run(INSERT, [JSON.stringify(rows)])
  }

  /** Takes rows that are due, the oldest first; nobody else gets them. */
  async claimDue(limit: number): Promise<DueRow[]> {
    const rows = await this.#sql.rows<DueRow>(
      `with due as (
         select id from outbox where state = 'waiting' and run_at <= $1 order by run_at limit $2 for update skip locked)
       update outbox o set state = 'queued', added = o.added + 1, updated_at = $1
       from due, ${NOT_WAITED_FOR} where o.id = due.id
       returning o.id, o.name, o.queue, o.workspace_id, o.run_at, o.added`,
      [this.#now(), limit],
    )
    return rows.sort((a, b) => (a.run_at === b.run_at ? (a.id < b.id ? -1 : 1) : a.run_at < b.run_at ? -1 : 1))
  }

  /** When the next row is due. */
  async nextDue(): Promise<number | undefined> {
    const row = await this.#sql.row<{ at: string | null }>(
      `select min(run_at) as at from outbox where state = 'waiting'`,
    )
    return row?.at == null ? undefined : Date.parse(row.at)
  }

  /** Puts rows back that the backend does not have. */
  async giveBack(ids: readonly string[]): Promise<number> {
    return this.#sql.run(
      `update outbox set state = 'waiting', updated_at = $2 where id = any($1) and state in ('queued', 'running')`,
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

  /** Rows that were given to the backend some time ago, in the order of that. */
  async givenBefore(before: Date, limit: number): Promise<{ id: string; queue: string; state: string }[]> {
    return this.#sql.rows(
      `select id, queue, state from outbox where state in ('queued', 'running') and updated_at < $1
       order by updated_at limit $2`,
      [before, limit],
    )
  }

  /** Notes that the backend was seen to have them. */
  async seen(ids: readonly string[]): Promise<void> {
    await this.#sql.run(`update outbox set updated_at = $2 where id = any($1) and state in ('queued', 'running')`, [
      ids,
      this.#now(),
    ])
  }

  /** Begins an attempt, which ends the right of every earlier one. Undefined when the job is done, dead or removed. */
  start(id: string, attemptId: string): Promise<StartedRow | undefined> {
    return this.#starts.run({ id, attemptId })
  }

  /** Ends a job that went well. False when the attempt is not the newest any more. */
  finish(id: string, attemptId: string): Promise<boolean> {
    return this.#ends.run({ id, attemptId })
  }

  /** The same within a transaction. @throws AttemptLostError */
  async finishIn(sql: Sql, { id, attemptId }: AttemptKey): Promise<void> {
    const done = await sql.rows(FINISH, [[id], [attemptId], this.#now()])
    if (done.length === 0) throw new AttemptLostError('another attempt has taken over, or the job was removed')
  }

  /** Notes a failure: to be run again at a time, or dead. False when the attempt is not the newest any more. */
  async fail({ id, attemptId }: AttemptKey, reason: string, again: Date | undefined): Promise<boolean> {
    const changed = await this.#sql.run(
      `update outbox set state = $3, reason = $4, run_at = coalesce($5::timestamptz, run_at), attempt_id = null,
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

  async #start(keys: readonly AttemptKey[]): Promise<(StartedRow | undefined)[]> {
    const rows = await this.#sql.rows<StartedRow>(
      `update outbox o set state = 'running', attempts = o.attempts + 1, attempt_id = s.attempt_id, key = null,
         started_at = $3, updated_at = $3
       from unnest($1::uuid[], $2::uuid[]) as s (id, attempt_id), ${NOT_WAITED_FOR}
       where o.id = s.id and o.state <> 'dead'
       returning o.id, o.attempt_id, o.name, o.queue, o.workspace_id, o.data, o.attempts, o.run_at`,
      [keys.map(({ id }) => id), keys.map(({ attemptId }) => attemptId), this.#now()],
    )
    const byAttempt = new Map(rows.map((row) => [row.attempt_id, row]))
    return keys.map(({ attemptId }) => byAttempt.get(attemptId))
  }

  async #finish(keys: readonly AttemptKey[]): Promise<boolean[]> {
    const rows = await this.#sql.rows<{ id: string }>(FINISH_ALONE, [
      keys.map(({ id }) => id),
      keys.map(({ attemptId }) => attemptId),
      this.#now(),
    ])
    const done = new Set(rows.map(({ id }) => id))
    return keys.map(({ id }) => done.has(id))
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}
