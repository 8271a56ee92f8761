import { sql } from 'kysely'
import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'
import { greaterThan } from '../../../db/condition.ts'
import { inSharedBatches } from '../../../db/delete-in-batches.ts'
import { query } from '../../../db/query.ts'
import { channels, chatTables } from './tables.ts'

/**
 * The log keeps the newest 1,000 changes of each channel, none older than 90 days. A client that is further behind gets a
 * snapshot. The newest change is never removed, because the numbers of the channel continue from it.
 */
export const CHAT_LOG_KEPT = { changes: 1_000, days: 90 } as const

/** Channels per statement. */
const CHANNELS = 50

interface Forgotten {
  readonly channelIds: readonly string[]
  /** Newest changes of each channel that are kept. */
  readonly kept: number
  readonly before: string
  /** Changes of each channel. */
  readonly rows: number
}

/** By the places of the rows: a join could read the whole log, because its plan does not depend on how many are deleted. */
const forget = query(chatTables, (db, $: Forgotten) => {
  const old = db
    .selectFrom(sql<{ id: string }>`unnest(${$.channelIds}::uuid[])`.as<'c'>(sql`c (id)`))
    .innerJoinLateral(
      (e) =>
        e
          .selectFrom('chatLog as one')
          .select((one) => one.fn.max('one.seq').as('seq'))
          .whereRef('one.channelId', '=', 'c.id')
          .as('newest'),
      (join) => join.onTrue(),
    )
    .innerJoinLateral(
      (e) =>
        e
          .selectFrom('chatLog as one')
          .select(sql`one.ctid`.as('place'))
          .whereRef('one.channelId', '=', 'c.id')
          .whereRef('one.seq', '<', 'newest.seq')
          .where((one) => one.or([one('one.seq', '<=', one('newest.seq', '-', $.kept)), one('one.at', '<', $.before)]))
          .orderBy('one.seq')
          .limit($.rows)
          .as('old'),
      (join) => join.onTrue(),
    )
    .select('old.place')
  return db.deleteFrom('chatLog').where(sql<boolean>`ctid = any(array(${old}))`)
})

/** Removes old changes from the log. */
export class ChatLogRetention {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(database: Sql, clock: Clock) {
    this.#sql = database
    this.#clock = clock
  }

  /**
   * Removes changes that are no longer kept, until none is left or the signal aborts.
   * @returns how many were removed
   */
  async prune(signal: AbortSignal, kept: { readonly changes: number; readonly days: number } = CHAT_LOG_KEPT) {
    const before = new Date(this.#clock.now() - kept.days * DAY).toISOString()
    let removed = 0
    for (let last: string | undefined; !signal.aborted;) {
      const channelIds = await this.#channelsAfter(last)
      const some = (rows: number) => forget.run(this.#sql, { channelIds, kept: kept.changes, before, rows })
      removed += await inSharedBatches(channelIds.length, some, signal)
      last = channelIds.at(-1)
      if (channelIds.length < CHANNELS) break
    }
    return removed
  }

  async #channelsAfter(last: string | undefined): Promise<string[]> {
    const rows = await channels.find(this.#sql, last === undefined ? {} : { id: greaterThan(last) }, {
      columns: ['id'],
      orderBy: ['id asc'],
      limit: CHANNELS,
    })
    return rows.map(({ id }) => id)
  }
}
