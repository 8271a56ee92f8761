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

/** A row with a running attempt. */
export interface StartedRow extends Readonly<Pick<Row<typeof OutboxRow>, (typeof STARTED)[number]>> {
  readonly attemptId: string
}

interface Entry<O> {
  readonly key: AttemptKey
  readonly resolve: (output: O) => void
  readonly reject: (error: unknown) => void
}

/** Maximum number of rows per statement. */
const AT_ONCE = 200

/**
 * Claims, starts and ends of attempts commit asynchronously. If a crash of the database loses one, the job runs
 * again, as after any crash between its work and its end. Effects commit with the end of their job, synchronously.
 */
export const NOT_WAITED_FOR = `(select set_config('synchronous_commit', 'off', true)) as quick`

// Written by hand: every job runs these two, batched into one statement each (`npm run bench:jobs`).
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

/** Ends a job within the transaction of a caller. */
export const FINISH = finishOf(false)
const FINISH_ALONE = finishOf(true)

/**
 * Writes the starts and ends of attempts to the outbox. Requests that arrive during a round trip share the next one:
 * two statements, pipelined, for any number of jobs.
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

  /** Starts an attempt, which invalidates all earlier ones. Undefined when the job is done, dead or deleted. */
  start(key: AttemptKey): Promise<StartedRow | undefined> {
    return new Promise((resolve, reject) => {
      this.#starts.push({ key, resolve, reject })
      this.#wake()
    })
  }

  /** Ends a job that succeeded. False when a newer attempt exists. */
  finish(key: AttemptKey): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#ends.push({ key, resolve, reject })
      this.#wake()
    })
  }

  #wake(): void {
    if (this.#busy) return
    this.#busy = true
    // Requests of the same event loop turn join this batch.
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

/** Answers every entry, in order. Never throws, because a failure of one statement must not affect the other. */
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
