import { DAY, type Clock } from '../../../core/clock.ts'
import type { Sql } from '../../../core/sql.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chatLogRetention: ChatLogRetention
  }
}

/**
 * What the log keeps of each channel: the newest 1,000 changes, none of them older than 90 days. Whoever is behind what
 * is kept is given a snapshot. The newest change stays for ever: the numbers of the channel go on from it.
 */
export const CHAT_LOG_KEPT = { changes: 1_000, days: 90 } as const

/** Channels that one statement looks at, and changes of each that it removes. */
const [CHANNELS, CHANGES] = [50, 2_000]

const SOME_CHANNELS = `select id from channels where ($1::uuid is null or id > $1) order by id limit ${CHANNELS}`
const FORGET = `
  delete from chat_log l using (
    select old.channel_id, old.seq from unnest($1::uuid[]) c (id)
    cross join lateral (select max(seq) as top from chat_log where channel_id = c.id) newest
    cross join lateral (
      select channel_id, seq from chat_log
      where channel_id = c.id and seq < newest.top and (seq <= newest.top - $2 or at < $3)
      order by seq limit ${CHANGES}
    ) old
  ) gone where l.channel_id = gone.channel_id and l.seq = gone.seq`

/** Keeps the log of changes from growing for ever. */
export class ChatLogRetention {
  readonly #sql: Sql
  readonly #clock: Clock

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /**
   * Removes what is no longer kept, channel by channel, until there is no more of it or the signal ends it.
   * @returns how many changes went
   */
  async prune(signal: AbortSignal, kept: { readonly changes: number; readonly days: number } = CHAT_LOG_KEPT) {
    const before = new Date(this.#clock.now() - kept.days * DAY)
    let removed = 0
    for (let last: string | null = null; !signal.aborted;) {
      const rows: { id: string }[] = await this.#sql.rows<{ id: string }>(SOME_CHANNELS, [last])
      const ids = rows.map(({ id }) => id)
      for (let some = 1; some > 0 && !signal.aborted; removed += some) {
        some = await this.#sql.run(FORGET, [ids, kept.changes, before])
      }
      last = ids.at(-1) ?? null
      if (ids.length < CHANNELS) break
    }
    return removed
  }
}
