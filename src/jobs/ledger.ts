import { sql as raw } from 'kysely'
import type { Clock } from '../core/clock.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Row } from '../db/row.ts'
import { finishedJobs, outbox, type OutboxRow } from './tables.ts'

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
export const notWaitedFor = raw<object>`(select set_config('synchronous_commit', 'off', true))`.as<'quick'>('quick')

interface Attempts {
  readonly ids: readonly string[]
  readonly attemptIds: readonly string[]
  readonly now: Date
}

function attemptsOf($: Attempts) {
  return raw<AttemptKey>`unnest(${$.ids}::uuid[], ${$.attemptIds}::uuid[])`.as<'s'>(raw`s (id, attempt_id)`)
}

const startAttempts = query({ outbox }, (db, $: Attempts) =>
  db
    .updateTable('outbox as o')
    .from([attemptsOf($), notWaitedFor])
    .set((e) => ({
      state: 'running',
      attempts: e('o.attempts', '+', 1),
      attemptId: e.ref('s.attemptId'),
      key: null,
      startedAt: $.now,
      updatedAt: $.now,
    }))
    .whereRef('o.id', '=', 's.id')
    .where('o.state', '<>', 'dead')
    .returning(STARTED.map((column) => `o.${column}` as const)),
)

const KEPT = ['id', 'name', 'queue', 'workspaceId', 'attempts', 'runAt', 'createdAt', 'startedAt'] as const

const finishOf = (isAlone: boolean) =>
  query({ outbox, finishedJobs }, (db, $: Attempts) =>
    db
      .with('gone', (gone) =>
        gone
          .deleteFrom('outbox as o')
          .using(isAlone ? [attemptsOf($), notWaitedFor] : [attemptsOf($)])
          .whereRef('o.id', '=', 's.id')
          .whereRef('o.attemptId', '=', 's.attemptId')
          .returning(KEPT.map((column) => `o.${column}` as const)),
      )
      .insertInto('finishedJobs')
      .columns([...KEPT, 'finishedAt'])
      .expression((e) => e.selectFrom('gone').select([...KEPT, raw<string>`${$.now}::timestamptz`.as('finishedAt')]))
      .returning('id'),
  )

/** Ends jobs within the transaction of a caller. */
export const finishAttempts = finishOf(false)
const finishAlone = finishOf(true)

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
    const rows = await startAttempts.rows(sql, this.#attempts(keys))
    const byAttempt = new Map(rows.map((row) => [row.attemptId, row as StartedRow]))
    return keys.map(({ attemptId }) => byAttempt.get(attemptId))
  }

  async #finish(sql: Sql, keys: readonly AttemptKey[]): Promise<boolean[]> {
    const rows = await finishAlone.rows(sql, this.#attempts(keys))
    const done = new Set(rows.map(({ id }) => id))
    return keys.map(({ id }) => done.has(id))
  }

  #attempts(keys: readonly AttemptKey[]): Attempts {
    return {
      ids: keys.map(({ id }) => id),
      attemptIds: keys.map(({ attemptId }) => attemptId),
      now: new Date(this.#clock.now()),
    }
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
