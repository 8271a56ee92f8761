import type { Member } from '../../../core/caller.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { unknownCursor } from '../../../core/page.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { findVisible } from './channel-row.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { ListedMessage, MessagesQuery } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly messageList: MessageList
  }
}

type Query = Static<typeof MessagesQuery>
/** Where a page begins; the newest messages when empty. */
type Place = { readonly [name in 'before' | 'after' | 'around']?: number | undefined }
type Listed = Static<typeof ListedMessage>

export interface MessagePage {
  readonly messages: readonly Listed[]
  readonly limit: number
  readonly nextCursor: string | null
  /** Number of the newest change that these messages tell of. */
  readonly seq: number
}

interface PageRow extends MessageRow {
  top: number
}

const MOST_WITH_HISTORY = 10
/** Above every number that a channel can have. */
const END = Number.MAX_SAFE_INTEGER

const FILTERS = {
  all: '$4::uuid is null',
  thread: 'm.reply_to = $4',
  pinned: 'm.pinned_at is not null and $4::uuid is null',
} as const

// Messages and number in one statement: whoever applies the changes after it misses none and applies none twice.
const page = (where: string, order: string) => `
  select ${MESSAGE_COLUMNS}, (select max(l.seq) from chat_log l where l.channel_id = $1) as top
  from chat_messages m where m.channel_id = $1 and ${where} ${order} limit $3`
const before = (filter: string) => page(`m.seq < $2 and ${filter}`, 'order by m.seq desc')
const after = (filter: string) => page(`m.seq > $2 and ${filter}`, 'order by m.seq')

const BEFORE = { all: before(FILTERS.all), thread: before(FILTERS.thread), pinned: before(FILTERS.pinned) }
const AFTER = { all: after(FILTERS.all), thread: after(FILTERS.thread), pinned: after(FILTERS.pinned) }
const TOP = 'select coalesce(max(seq), 0) as top from chat_log where channel_id = $1'
const HISTORY = 'select message_id, body, at from chat_edits where message_id = any($1) order by message_id, edit'

/** Messages of a channel by their place. */
export class MessageList {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Before, after or around a number, or where a cursor goes on; the newest when none is named. By ascending number.
   * @throws AppError not_found, validation_failed
   */
  async list({ userId, workspaceId }: Member, channelId: string, query: Query): Promise<MessagePage> {
    requireOnePlace(query)
    const place = query.cursor === undefined ? query : decodePlace(query.cursor)
    const channel = await findVisible(this.#sql, workspaceId, userId, channelId)
    if (channel === undefined) throw NotFound()
    const limit = query.history ? Math.min(query.limit ?? MOST_WITH_HISTORY, MOST_WITH_HISTORY) : (query.limit ?? 30)
    // An empty page names a number from before it was read: applying the changes after that is right all the same.
    const top = await this.#sql.row<{ top: number }>(TOP, [channelId])
    const { next, rows } = await this.#page(channelId, query, place, limit)
    const messages = rows.map(messageView)
    return {
      limit,
      nextCursor: next && encodePlace(next),
      seq: rows[0]?.top ?? top?.top ?? 0,
      messages: query.history ? await this.#withHistory(messages) : messages,
    }
  }

  async #page(
    channelId: string,
    query: Query,
    place: Place,
    limit: number,
  ): Promise<{ rows: PageRow[]; next: Place | null }> {
    const filter = query.replyTo !== undefined ? 'thread' : query.pinned ? 'pinned' : 'all'
    const read = (text: string, seq: number, most: number) =>
      this.#sql.rows<PageRow>(text, [channelId, seq, most + 1, query.replyTo ?? null])
    if (place.after !== undefined) {
      const found = await read(AFTER[filter], place.after, limit)
      const rows = found.slice(0, limit)
      return { rows, next: found.length > limit ? { after: rows.at(-1)?.seq } : null }
    }
    if (place.around === undefined) {
      const found = await read(BEFORE[filter], place.before ?? END, limit)
      const rows = found.slice(0, limit).toReversed()
      return { rows, next: found.length > limit ? { before: rows[0]?.seq } : null }
    }
    const half = Math.floor(limit / 2)
    const earlier = await read(BEFORE[filter], place.around, half)
    // The lower number of the two readings holds for both: see `seq`.
    const later = await read(AFTER[filter], place.around - 1, limit - half)
    const tops = [...earlier, ...later].map((row) => row.top)
    const rows = [...earlier.slice(0, half).toReversed(), ...later.slice(0, limit - half)]
    return {
      rows: rows.map((row) => ({ ...row, top: Math.min(...tops) })),
      // Behind the place, one asks with `after`; pages go on to what is earlier, as without a place.
      next: earlier.length > half ? { before: rows[0]?.seq ?? place.around } : null,
    }
  }

  async #withHistory(messages: readonly Listed[]): Promise<Listed[]> {
    const rows = await this.#sql.rows<{ message_id: string; body: string; at: string }>(HISTORY, [
      messages.map((message) => message._id),
    ])
    return messages.map((message) => ({
      ...message,
      history: rows.filter((row) => row.message_id === message._id).map(({ at, body }) => ({ body, at })),
    }))
  }
}

function requireOnePlace(query: Query): void {
  const places = (['before', 'after', 'around', 'cursor'] as const).filter((name) => query[name] !== undefined)
  if (places.length < 2) return
  const message = 'cannot stand beside another of before, after, around and cursor'
  throw ValidationFailed({ errors: [{ path: `/query/${places[1]}`, code: 'one_place', message }] })
}

function encodePlace(place: Place): string {
  return Buffer.from(place.after === undefined ? `before:${place.before}` : `after:${place.after}`).toString(
    'base64url',
  )
}

/** @throws AppError validation_failed for a cursor that this list did not make */
function decodePlace(cursor: string): Place {
  const [, way, digits] = /^(before|after):(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (way === undefined) throw unknownCursor()
  return { [way]: Number(digits) }
}
