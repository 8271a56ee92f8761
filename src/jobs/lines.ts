import { sql } from 'kysely'
import type { Clock } from '../core/clock.ts'
import { FAIR_QUEUES, QUEUES, type QueueBounds, type QueueName } from '../core/job.ts'
import type { Sql } from '../core/sql.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { DUE_COLUMNS, type DueRow } from './outbox.ts'
import { outbox } from './tables.ts'

/**
 * Number of jobs of a fair queue that are added to the backend before a worker is free, so that no worker has to wait
 * for the outbox. The backend runs them in order, so a new job has to wait for all of them.
 */
const MAX_GIVEN = 4

/** Workers that one line leaves to others, on nodes with several, so that a new job need not wait for long jobs. */
const LEFT_TO_OTHERS = 1

/** Id of the advisory lock. */
const LINES_LOCK = 0x6c_69_6e_65

/**
 * Fair queues with waiting rows, and how many of their rows the backend has not started. The states are literals, so that
 * the conditions match two partial indexes.
 */
const givenByQueue = query({ outbox }, (db, $: { queues: readonly string[] }) => {
  const inLine = db
    .selectFrom('outbox as o')
    .where('o.queue', '=', sql.ref<string>('q.queue'))
    .where('line', 'is not', null)
  return db
    .selectFrom(sql<{ queue: QueueName }>`unnest(${$.queues}::text[])`.as<'q'>(sql`q (queue)`))
    .select('q.queue')
    .select(
      inLine
        .select((e) => e.fn.countAll<number>().as('count'))
        .where(sql<boolean>`state = 'queued'`)
        .$asScalar()
        .$notNull()
        .as('given'),
    )
    .where((e) => e.exists(inLine.select('o.id').where(sql<boolean>`state = 'waiting'`)))
})

/** No line sorts before it. It is a line itself: that of jobs without a workspace. */
export const FIRST_LINE = '00000000-0000-0000-0000-000000000000'

const NEXT_LINE = `
  select line from outbox where queue = $1 and state = 'waiting' and line is not null`

/**
 * The oldest due row of each line from `$2` on, or after it, in the order of lines, at most `$4`. Each line is found by one lookup in
 * the index, however many rows it has. The lines `$5` are skipped. Written by hand, because typed statements hide how the
 * recursion walks through the index (`npm run bench:jobs`).
 */
const claim = (from: '>' | '>=') => `
  with recursive lines (line) as (
    (${NEXT_LINE} and line ${from} $2 order by line limit 1)
    union all
    select (${NEXT_LINE} and line > lines.line order by line limit 1) from lines where lines.line is not null
  ), due as (
    select oldest.id from lines cross join lateral (
      select id from outbox
      where queue = $1 and line = lines.line and state = 'waiting' and run_at <= $3 order by run_at limit 1
    ) oldest where lines.line is not null and lines.line <> all($5::uuid[]) limit $4
  )
  update outbox o set state = 'queued', added = o.added + 1, updated_at = $3 from due
  where o.id = due.id and o.state = 'waiting'
  returning ${DUE_COLUMNS}, o.line`

export const CLAIM_FROM = claim('>=')
const CLAIM_AFTER = claim('>')

const dissolveLines = query({ outbox }, (db, $: { fair: readonly string[] }) =>
  db
    .updateTable('outbox')
    .set({ line: null })
    .where('line', 'is not', null)
    .where('state', '=', 'waiting')
    .where('queue', '!=', sql<string>`all(${$.fair})`),
)

const stillClaimed = query({ outbox }, (db, $: { ids: readonly string[] }) =>
  db
    .selectFrom('outbox')
    .select('id')
    .where('id', '=', sql<string>`any(${$.ids})`)
    .where('state', 'in', ['queued', 'running']),
)

interface LineRow extends DueRow {
  readonly line: string
}

/**
 * Fair queues: their rows wait in the outbox in one line per workspace, and the lines are served round robin. Only a few
 * rows are in the backend at a time, so the first job of a workspace runs after one job of each other workspace,
 * however many jobs those have waiting. No workspace can use all workers, however long its jobs take:
 * each node claims for a line at most as many rows as it has workers, minus one.
 */
export class Lines {
  readonly #database: Database
  readonly #clock: Clock
  readonly #bounds: Partial<Record<QueueName, QueueBounds>>
  /** The last served line of each queue. */
  readonly #last = new Map<string, string>()
  /** Queue and line of the rows that this node has claimed and that have not ended, by row id. */
  readonly #claimed = new Map<string, string>()

  /** @param bounds settings that differ from `QUEUES`, by queue */
  constructor(database: Database, clock: Clock, bounds: Partial<Record<QueueName, QueueBounds>> = {}) {
    this.#database = database
    this.#clock = clock
    this.#bounds = bounds
  }

  /** Claims as many rows as the backend can take, in the order in which they should run. No other node gets them. */
  async claim(): Promise<DueRow[]> {
    const waiting = await this.#given(this.#database)
    if (waiting.every(({ given }) => given >= MAX_GIVEN)) return []
    return this.#database.transaction(async (tx) => {
      // One node at a time. Two nodes with the same count would both fill the backend.
      // Written by hand: Kysely has no advisory locks and no settings.
      await tx.rows(`select pg_advisory_xact_lock($1), set_config('synchronous_commit', 'off', true)`, [LINES_LOCK])
      await this.#forgetEnded(tx)
      const claimed: DueRow[] = []
      for (const { queue, given } of await this.#given(tx)) {
        claimed.push(...(await this.#claimOf(tx, queue, MAX_GIVEN - given)))
      }
      return claimed
    })
  }

  /**
   * Removes the line of rows whose queue is not fair in this version. They are served in the order of their time.
   * @returns how many rows there were
   */
  async dissolve(): Promise<number> {
    return dissolveLines.run(this.#database, { fair: FAIR_QUEUES })
  }

  #given(tx: Sql): Promise<{ queue: QueueName; given: number }[]> {
    return givenByQueue.rows(tx, { queues: FAIR_QUEUES })
  }

  /** Updates the claimed rows. A row that waits for another attempt has ended, too. */
  async #forgetEnded(tx: Sql): Promise<void> {
    if (this.#claimed.size === 0) return
    const rows = await stillClaimed.rows(tx, { ids: [...this.#claimed.keys()] })
    const left = new Set(rows.map(({ id }) => id))
    for (const id of this.#claimed.keys()) if (!left.has(id)) this.#claimed.delete(id)
  }

  /** Lines of which this node has claimed the maximum. A node with a single worker serves all lines. */
  #busyLines(queue: QueueName): string[] {
    const { concurrency } = { ...QUEUES[queue], ...this.#bounds[queue] }
    if (concurrency <= LEFT_TO_OTHERS) return []
    const counts = new Map<string, number>()
    for (const key of this.#claimed.values()) counts.set(key, (counts.get(key) ?? 0) + 1)
    return [...counts]
      .filter(([key, count]) => key.startsWith(`${queue} `) && count >= concurrency - LEFT_TO_OTHERS)
      .map(([key]) => key.slice(queue.length + 1))
  }

  /** Claims one row of each line, round after round, until the limit is reached or nothing is due. */
  async #claimOf(tx: Sql, queue: QueueName, room: number): Promise<DueRow[]> {
    const claimed: DueRow[] = []
    while (claimed.length < room) {
      const last = this.#last.get(queue)
      const rows = await tx.rows<LineRow>(last === undefined ? CLAIM_FROM : CLAIM_AFTER, [
        queue,
        last ?? FIRST_LINE,
        new Date(this.#clock.now()),
        room - claimed.length,
        this.#busyLines(queue),
      ])
      for (const { id, line } of rows) this.#claimed.set(id, `${queue} ${line}`)
      const inOrder = rows.toSorted((a, b) => (a.line < b.line ? -1 : 1))
      claimed.push(...inOrder)
      const newest = inOrder.at(-1)
      if (newest !== undefined) this.#last.set(queue, newest.line)
      // After the last line, continue with the first one.
      else if (last !== undefined) this.#last.delete(queue)
      else break
    }
    return claimed
  }
}
