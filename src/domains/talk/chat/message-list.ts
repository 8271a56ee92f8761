import type { Member } from '../../../core/caller.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { unknownCursor } from '../../../core/page.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { query } from '../../../db/query.ts'
import { findRange } from './channel-row.ts'
import { MESSAGE, messageView, type MessageRow } from './message-row.ts'
import type { ListedMessage, MessagesQuery } from './schemas.ts'
import { chatEdits, chatTables } from './tables.ts'

type Query = Static<typeof MessagesQuery>
/** Where a page begins. Empty for the newest messages. */
type Place = { readonly [name in 'before' | 'after' | 'around']?: number | undefined }
type Listed = Static<typeof ListedMessage>

export interface MessagePage {
  readonly messages: readonly Listed[]
  readonly limit: number
  readonly nextCursor: string | null
  /** Number of the newest change that these messages include. */
  readonly seq: number
  readonly generation: string
}

interface PageRow extends MessageRow {
  /** Number of the newest change when the row was read. */
  readonly top: number
}

const MAX_WITH_HISTORY = 10
interface Reading {
  readonly channelId: string
  /** Numbers below this one, in descending order. Starts at the newest if neither this nor `after` is set. */
  readonly before?: number | undefined
  /** Numbers above this one, in ascending order. */
  readonly after?: number | undefined
  readonly replyTo?: string | undefined
  readonly pinned?: true | undefined
  readonly limit: number
}

// Messages and number in one statement: a client that applies the changes after the number misses none and repeats
// none.
const messages = query(chatTables, (db, $: Reading) => {
  let found = db
    .selectFrom('chatMessages as m')
    .select(MESSAGE)
    .select((e) =>
      e.fn
        .coalesce(
          e
            .selectFrom('chatLog as l')
            .select((l) => l.fn.max('l.seq').as('seq'))
            .where('l.channelId', '=', $.channelId),
          e.lit(0),
        )
        .as('top'),
    )
    .where('m.channelId', '=', $.channelId)
    .limit($.limit)
  if ($.replyTo !== undefined) found = found.where('m.replyTo', '=', $.replyTo)
  if ($.pinned !== undefined) found = found.where('m.pinnedAt', 'is not', null)
  if ($.after !== undefined) return found.where('m.seq', '>', $.after).orderBy('m.seq')
  if ($.before !== undefined) found = found.where('m.seq', '<', $.before)
  return found.orderBy('m.seq', 'desc')
})

/** Lists the messages of a channel. */
export class MessageList {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Messages before, after or around a number, or from a cursor; the newest when none is given. In ascending order.
   * @throws AppError not_found, validation_failed
   */
  async list({ userId, workspaceId }: Member, channelId: string, asked: Query): Promise<MessagePage> {
    requireOnePlace(asked)
    const place = asked.cursor === undefined ? asked : decodePlace(asked.cursor)
    // An empty page names this number. It was read before the page: the changes after it lead to the right state.
    const range = await findRange(this.#sql, workspaceId, userId, channelId)
    if (range === undefined) throw NotFound()
    const limit = asked.history ? Math.min(asked.limit ?? MAX_WITH_HISTORY, MAX_WITH_HISTORY) : (asked.limit ?? 30)
    const { next, rows } = await this.#page(channelId, asked, place, limit)
    const listed = rows.map(messageView)
    return {
      limit,
      nextCursor: next && encodePlace(next),
      seq: rows[0]?.top ?? range.top,
      // Not that of the rows: if another server took over in between, the client must not take its numbers for the old ones.
      generation: range.generation,
      messages: asked.history ? await this.#withHistory(listed) : listed,
    }
  }

  async #page(
    channelId: string,
    { pinned, replyTo }: Query,
    place: Place,
    limit: number,
  ): Promise<{ rows: PageRow[]; next: Place | null }> {
    const filter = replyTo === undefined ? { pinned } : { replyTo }
    const read = (from: Pick<Reading, 'before' | 'after'>, most: number): Promise<PageRow[]> =>
      messages.rows(this.#sql, { channelId, ...filter, ...from, limit: most + 1 })
    if (place.after !== undefined) {
      const found = await read({ after: place.after }, limit)
      const rows = found.slice(0, limit)
      return { rows, next: found.length > limit ? { after: rows.at(-1)?.seq } : null }
    }
    if (place.around === undefined) {
      const found = await read({ before: place.before }, limit)
      const rows = found.slice(0, limit).toReversed()
      return { rows, next: found.length > limit ? { before: rows[0]?.seq } : null }
    }
    const half = Math.floor(limit / 2)
    const earlier = await read({ before: place.around }, half)
    const rest = limit - half
    // The lower number of the two statements is right for both: see `seq`.
    const later = await read({ after: place.around - 1 }, rest)
    const tops = [...earlier, ...later].map((row) => row.top)
    const rows = [...earlier.slice(0, half).toReversed(), ...later.slice(0, rest)]
    return {
      rows: rows.map((row) => ({ ...row, top: Math.min(...tops) })),
      // Pages continue towards older messages. For newer ones, clients use `after`.
      next: earlier.length > half ? { before: rows[0]?.seq ?? place.around } : null,
    }
  }

  async #withHistory(listed: readonly Listed[]): Promise<Listed[]> {
    const rows = await chatEdits.find(
      this.#sql,
      { messageId: anyOf(listed.map((message) => message._id)) },
      { columns: ['messageId', 'body', 'at'], orderBy: ['messageId asc', 'edit asc'] },
    )
    return listed.map((message) => ({
      ...message,
      history: rows.filter((row) => row.messageId === message._id).map(({ at, body }) => ({ body, at })),
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
