import type { Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import { CHANNEL_COLUMNS, channelState, findVisible, VISIBLE, type ChannelRow } from './channel-row.ts'
import { CHAT_LOG_KEPT } from './log-retention.ts'
import { asSent, MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { ChangeData, ChangeKind, SnapshotData, SyncData } from './schemas.ts'
import { byCode, WINDOW } from './state.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chatLog: ChatLog
  }
}

export interface SyncLimits {
  /** Changes behind which a snapshot is cheaper than catching up. */
  readonly tooFar: number
  /** Changes a page. */
  readonly page: number
}

const LIMITS: SyncLimits = { tooFar: CHAT_LOG_KEPT.changes, page: 200 }

interface LogRow extends MessageRow {
  change_seq: number
  type: ChangeKind
  message_id: string | null
  by_id: string
  data: object | null
  at: string
}

const RANGE = 'select coalesce(min(seq), 0) as low, coalesce(max(seq), 0) as top from chat_log where channel_id = $1'
const CHANGES = `
  select l.seq as change_seq, l.type, l.message_id, l.by_id, l.data, l.at, ${MESSAGE_COLUMNS}
  from chat_log l left join chat_messages m on m.id = l.message_id
  where l.channel_id = $1 and l.seq > $2 order by l.seq limit $3`
// All in one statement, so that it is the state at one number.
const SNAPSHOT = `
  select ${CHANNEL_COLUMNS}, (select coalesce(max(l.seq), 0) from chat_log l where l.channel_id = c.id) as seq,
    (select json_agg(newest order by newest.seq) from (
      select ${MESSAGE_COLUMNS} from chat_messages m where m.channel_id = c.id order by m.seq desc limit ${WINDOW}
    ) newest) as messages,
    array(select m.id::text from chat_messages m where m.channel_id = c.id and m.pinned_at is not null) as pins
  from channels c where c.workspace_id = $1 and c.id = $3 and ${VISIBLE}`

/** The changes of channels after the fact: what a client that was away has missed. */
export class ChatLog {
  readonly #sql: Sql

  readonly #limits: SyncLimits

  constructor(sql: Sql, limits: SyncLimits = LIMITS) {
    this.#sql = sql
    this.#limits = limits
  }

  /**
   * What came after a number, in order and without a gap, or a snapshot for one who is behind what the log keeps, or
   * ahead of the channel, as after the restore of a backup. Applying page after page, or the snapshot, leads to the state of a
   * client that never left.
   * @throws AppError not_found
   */
  async changesAfter({ userId, workspaceId }: Member, channelId: string, after: number): Promise<SyncData> {
    const channel = await findVisible(this.#sql, workspaceId, userId, channelId)
    const range = await this.#sql.row<{ low: number; top: number }>(RANGE, [channelId])
    if (channel === undefined || range === undefined) throw NotFound()
    const { low, top } = range
    const isServed = after <= top && top - after <= this.#limits.tooFar && after >= low - 1
    if (!isServed) return this.#snapshot(workspaceId, userId, channelId)
    const rows = await this.#sql.rows<LogRow>(CHANGES, [channelId, after, this.#limits.page])
    // Pruned between the two readings.
    if (rows[0] !== undefined && rows[0].change_seq !== after + 1) return this.#snapshot(workspaceId, userId, channelId)
    const changes = rows.map((row) => changeOf(workspaceId, channelId, row))
    const reached = changes.at(-1)?.seq ?? after
    const seq = Math.max(top, reached)
    return { seq, hasMore: reached < seq, changes, snapshot: null }
  }

  async #snapshot(workspaceId: string, userId: string, channelId: string): Promise<SyncData> {
    const snapshot = await this.snapshot(workspaceId, userId, channelId)
    return { seq: snapshot.seq, hasMore: false, changes: [], snapshot }
  }

  /** The present state of a channel. @throws AppError not_found */
  async snapshot(workspaceId: string, userId: string, channelId: string): Promise<SnapshotData> {
    const row = await this.#sql.row<ChannelRow & { seq: number; messages: MessageRow[] | null; pins: string[] }>(
      SNAPSHOT,
      [workspaceId, userId, channelId],
    )
    if (row === undefined) throw NotFound()
    return {
      channel: channelState(row),
      seq: row.seq,
      messages: (row.messages ?? []).map((message) => messageView(withTimes(message))),
      pins: row.pins.sort(byCode),
    }
  }
}

/** Times inside of JSON come in PostgreSQL's own spelling. */
function withTimes(row: MessageRow): MessageRow {
  const iso = <T extends string | null>(time: T) => (time === null ? time : new Date(time).toISOString()) as T
  return {
    ...row,
    created_at: iso(row.created_at),
    edited_at: iso(row.edited_at),
    deleted_at: iso(row.deleted_at),
    pinned_at: iso(row.pinned_at),
    last_reply_at: iso(row.last_reply_at),
  }
}

function changeOf(workspaceId: string, channelId: string, row: LogRow): ChangeData {
  const { at, by_id: actorId, change_seq: seq, type } = row
  return { workspaceId, channelId, seq, type, at, actorId, data: dataOf(row) } as ChangeData
}

/** The log keeps no texts: they come from the message as it is now, and changes that follow find them there already. */
function dataOf(row: LogRow): object {
  const messageId = row.message_id
  switch (row.type) {
    case 'message':
      return { message: asSent(messageView(row)) }
    case 'edit':
      return { messageId, ...row.data, body: row.body, mentions: { userIds: row.mentions, everyone: row.mentions_all } }
    case 'pin':
    case 'unpin':
      return { messageId }
    default:
      return row.data ?? {}
  }
}
