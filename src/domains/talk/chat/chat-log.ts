import { sql } from 'kysely'
import type { Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { generation } from '../../../db/history.ts'
import { query } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import { CHANNEL, channelState, findRange, topSeq, visibleTo } from './channel-row.ts'
import { CHAT_LOG_KEPT } from './log-retention.ts'
import { asSent, MESSAGE, messageView, type MessageRow } from './message-row.ts'
import type { ChangeData, MessageData, SnapshotData, SyncData, SyncQuery } from './schemas.ts'
import { byCode, WINDOW } from './state.ts'
import { chatMessages, chatTables, type ChatChange } from './tables.ts'

export interface SyncLimits {
  /** A client that is further behind gets a snapshot, which is cheaper. */
  readonly tooFar: number
  /** Changes per page. */
  readonly page: number
}

const LIMITS: SyncLimits = { tooFar: CHAT_LOG_KEPT.changes, page: 200 }

const changes = query(chatTables, (db, $: { channelId: string; after: number; limit: number }) =>
  db
    .selectFrom('chatLog as l')
    .leftJoin('chatMessages as m', 'm.id', 'l.messageId')
    .select(['l.seq as changeSeq', 'l.type', 'l.messageId', 'l.byId', 'l.data', 'l.at'])
    .select(MESSAGE)
    .where('l.channelId', '=', $.channelId)
    .where('l.seq', '>', $.after)
    .orderBy('l.seq')
    .limit($.limit),
)

/** A change, with its message if it changes a message. */
interface LogRow extends Omit<Row<typeof ChatChange>, 'channelId' | 'seq'>, Partial<Nulls<MessageRow>> {
  readonly changeSeq: number
}

type Nulls<T> = { [K in keyof T]: T[K] | null }

// One statement, so that channel, messages and pins are consistent with one number.
const snapshots = query(chatTables, (db, $: { workspaceId: string; userId: string; channelId: string }) =>
  db
    .selectFrom('channels as c')
    .select([...CHANNEL, topSeq.as('seq'), generation.as('generation')])
    .select((e) => {
      const ofChannel = e.selectFrom('chatMessages as m').whereRef('m.channelId', '=', 'c.id')
      const newest = ofChannel.select(MESSAGE).orderBy('m.seq', 'desc').limit(e.lit(WINDOW))
      const pins = ofChannel.select('m.id').where('m.pinnedAt', 'is not', null)
      return [
        sql<MessageJson[] | null>`(select json_agg(newest order by newest.seq) from ${newest} newest)`.as('messages'),
        sql<string[]>`array${pins}`.as('pins'),
      ]
    })
    .where('c.workspaceId', '=', $.workspaceId)
    .where('c.id', '=', $.channelId)
    .where(visibleTo($.userId)),
)

/** A `MessageRow` as PostgreSQL writes it as JSON. */
type MessageJson = Pick<MessageRow, 'reactions'> & Readonly<Record<string, unknown>>

/** Reads the changes that a client has missed. */
export class ChatLog {
  readonly #sql: Sql
  readonly #limits: SyncLimits

  constructor(database: Sql, limits: SyncLimits = LIMITS) {
    this.#sql = database
    this.#limits = limits
  }

  /**
   * The changes after a number, in order and without a gap. A client that is behind the log, or ahead of the channel
   * or of another generation (after a restored backup), gets a snapshot. Applying all pages, or the snapshot, leads to the
   * state of a client that was never away.
   * @throws AppError not_found
   */
  async changesAfter(
    { userId, workspaceId }: Pick<Member, 'userId' | 'workspaceId'>,
    channelId: string,
    { after, generation: known }: Static<typeof SyncQuery>,
  ): Promise<SyncData> {
    const range = await findRange(this.#sql, workspaceId, userId, channelId)
    if (range === undefined) throw NotFound()
    const { generation: current, low, top } = range
    const isWithin = after <= top && top - after <= this.#limits.tooFar && after >= low - 1
    if (!isWithin || (known !== undefined && known !== current)) return this.#snapshot(workspaceId, userId, channelId)
    const rows = await changes.rows(this.#sql, { channelId, after, limit: this.#limits.page })
    // Changes were removed between the two statements.
    if (rows[0] !== undefined && rows[0].changeSeq !== after + 1) return this.#snapshot(workspaceId, userId, channelId)
    const page = rows.map((row) => changeOf(workspaceId, channelId, row))
    const reached = page.at(-1)?.seq ?? after
    const seq = Math.max(top, reached)
    return { seq, generation: current, hasMore: reached < seq, changes: page, snapshot: null }
  }

  async #snapshot(workspaceId: string, userId: string, channelId: string): Promise<SyncData> {
    const { generation: current, ...snapshot } = await this.snapshot(workspaceId, userId, channelId)
    return { seq: snapshot.seq, generation: current, hasMore: false, changes: [], snapshot }
  }

  /** The current state of a channel, and its `Generation`. @throws AppError not_found */
  async snapshot(
    workspaceId: string,
    userId: string,
    channelId: string,
  ): Promise<SnapshotData & { readonly generation: string }> {
    const row = await snapshots.row(this.#sql, { workspaceId, userId, channelId })
    if (row === undefined) throw NotFound()
    return {
      channel: channelState(row),
      generation: row.generation,
      seq: row.seq,
      messages: (row.messages ?? []).map((json) =>
        messageView({ ...chatMessages.fromColumns(json), reactions: json.reactions }),
      ),
      pins: row.pins.sort(byCode),
    }
  }
}

function changeOf(workspaceId: string, channelId: string, row: LogRow): ChangeData {
  const { at, byId: actorId, changeSeq: seq, type } = row
  return { workspaceId, channelId, seq, type, at, actorId, data: dataOf(row) } as ChangeData
}

/** The log stores no texts, so a change comes with the message's current text. Later changes bring the same one. */
function dataOf(row: LogRow): object {
  const { data, messageId } = row
  switch (row.type) {
    case 'message':
      return { message: asSent(messageOf(row)) }
    case 'edit': {
      const { body, mentions } = messageOf(row)
      return { messageId, ...data, body, mentions }
    }
    case 'pin':
    case 'unpin':
      return { messageId }
    default:
      return data ?? {}
  }
}

/** The row of a message exists as long as its channel. */
function messageOf(row: LogRow): MessageData {
  return messageView(row as MessageRow)
}
