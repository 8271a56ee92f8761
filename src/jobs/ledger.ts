import type { Clock } from '../core/clock.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import type { Row } from '../db/row.ts'
import { outbox, type OutboxRow } from './tables.ts'

export interface AttemptKey {
  readonly id: string
  readonly attemptId: string
}

const STARTED = ['id', 'attemptId', 'name', 'queue', 'workspaceId', 'line', 'data', 'attempts', 'runAt'] as const

/** A row whose attempt has begun. */
export interface StartedRow extends Readonly<Pick<Row<typeof OutboxRow>, (typeof STARTED)[number]>> {
  readonly attemptId: string
}

interface Entry<O> {
  readonly key: AttemptKey
  readonly resolve: (output: O) => void
  readonly reject: (error: unknown) => void
}

/** Rows of one statement at most. */
const AT_ONCE = 200

/**
 * Claims, beginnings and ends are not waited for until they are on disk: a crash of the server that takes them back makes
 * a job run again, as any crash between its work and its end does. Effects are committed with their job, and waited for.
 */
export const NOT_WAITED_FOR = `(select set_config('synchronous_commit', 'off', true)) as quick`

// Written by hand: every job passes through these two, many at a time in one statement each (`npm run bench:jobs`).
const START = `
  update outbox o set state = 'running', attempts = o.attempts + 1, attempt_id = s.attempt_id, key = null,
    started_at = $3, updated_at = $3
  from unnest($1::uuid[], $2::uuid[]) as s (id, attempt_id), ${NOT_WAITED_FOR}
  where o.id = s.id and o.state <> 'dead'
  returning ${outbox.selection('o', STARTED)}`

const finishOf = (alone: boolean) => `
  with gone as (
    delete from outbox o using unnest($1::uuid[], $2::uuid[]) as s (id, attempt_id)${alone ? `, ${NOT_WAITED_FOR}` : ''}
    where o.id = s.id and o.attempt_id = s.attempt_id
    returning o.id, o.name, o.queue, o.workspace_id, o.attempts, o.run_at, o.started_at, o.created_at)
  insert into finished_jobs (id, name, queue, workspace_id, attempts, run_at, started_at, finished_at, created_at)
  select id, name, queue, workspace_id, attempts, run_at, started_at, $3::timestamptz, created_at from gone
  returning id`

/** Ends a job within a transaction of somebody else. */
export const FINISH = finishOf(false)
const FINISH_ALONE = finishOf(true)

/**
 * Beginnings and ends of attempts on their way into the outbox. What comes while one round trip is under way shares the
 * next: two statements, sent in one piece, however many jobs.
 */
export class Ledger {
  readonly #database: Database
  readonly #clock: Clock
  #starts: Entry<StartedRow | undefined>[] = []
  #ends: Entry<boolean>[] = []
  #busy = false

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Begins an attempt, which ends the right of every earlier one. Undefined when the job is done, dead or removed. */
  start(key: AttemptKey): Promise<StartedRow | undefined> {
    return new Promise((resolve, reject) => {
      this.#starts.push({ key, resolve, reject })
      this.#wake()
    })
  }

  /** Ends a job that went well. False when the attempt is not the newest any more. */
  finish(key: AttemptKey): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#ends.push({ key, resolve, reject })
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#busy) return
    this.#busy = true
    // The others of this turn of the event loop come along.
    setImmediate(() => void this.#drain())
  }

  async #drain(): Promise<void> {
    while (this.#starts.length > 0 || this.#ends.length > 0) {
      const starts = this.#starts.splice(0, AT_ONCE)
      const ends = this.#ends.splice(0, AT_ONCE)
      try {
        await this.#database.withClient((client, sql) =>
          this.#database.inOnePiece(client, () =>
            Promise.all([
              settle(starts, (keys) => this.#start(sql, keys)),
              settle(ends, (keys) => this.#finish(sql, keys)),
            ]),
          ),
        )
      } catch (error) {
        for (const { reject } of [...starts, ...ends]) reject(error)
      }
    }
    this.#busy = false
  }

  async #start(sql: Sql, keys: readonly AttemptKey[]): Promise<(StartedRow | undefined)[]> {
    const rows = await sql.rows<StartedRow>(START, this.#values(keys))
    const byAttempt = new Map(rows.map((row) => [row.attemptId, row]))
    return keys.map(({ attemptId }) => byAttempt.get(attemptId))
  }

  async #finish(sql: Sql, keys: readonly AttemptKey[]): Promise<boolean[]> {
    const rows = await sql.rows<{ id: string }>(FINISH_ALONE, this.#values(keys))
    const done = new Set(rows.map(({ id }) => id))
    return keys.map(({ id }) => done.has(id))
  }

  #values(keys: readonly AttemptKey[]): [string[], string[], Date] {
    return [keys.map(({ id }) => id), keys.map(({ attemptId }) => attemptId), new Date(this.#clock.now())]
  }
}

/** Answers every entry, in order. Never throws: the failure of one statement is not that of the other. */
async function settle<O>(
  entries: readonly Entry<O>[],
  work: (keys: readonly AttemptKey[]) => Promise<readonly O[]>,
): Promise<void> {
  if (entries.length === 0) return
  try {
    const outputs = await work(entries.map(({ key }) => key))
    for (const [index, { resolve }] of entries.entries()) resolve(outputs[index] as O)
  } catch (error) {
    for (const { reject } of entries) reject(error)
  }
}
