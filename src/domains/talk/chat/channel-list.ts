import type { Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { CHANNEL_COLUMNS, channelState, TOP_SEQ, VISIBLE, type ChannelRow } from './channel-row.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { ChannelDetails, ChannelsQuery } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly channelList: ChannelList
  }
}

interface DetailsRow extends ChannelRow {
  seq: number
  read_seq: number
  muted: boolean
  unread: number
  mentions: number
  last_id: string | null
}

/** Messages that are counted at most. */
const COUNTED = 1_000

/**
 * For `c` a channel and `$2` a user: how far they have read, and what came after. Where nothing was marked yet, it
 * counts from when they joined the workspace.
 */
export const READ_COLUMNS = `
  coalesce(rd.seq, 0) as read_seq, coalesce(rd.muted, false) as muted,
  (select count(*) from (
    select from chat_messages m where m.channel_id = c.id and m.seq > coalesce(rd.seq, 0) and m.author_id <> $2
      and m.deleted_at is null and (rd.seq > 0 or m.created_at >= wm.joined_at)
    limit ${COUNTED}) counted) as unread,
  (select count(*) from (
    (select mt.seq from chat_mentions mt where mt.user_id = $2 and mt.channel_id = c.id and mt.seq > coalesce(rd.seq, 0)
      limit ${COUNTED})
    union
    (select m.seq from chat_messages m where m.channel_id = c.id and m.mentions_all and m.seq > coalesce(rd.seq, 0)
      and m.author_id <> $2 and (rd.seq > 0 or m.created_at >= wm.joined_at) limit ${COUNTED})) counted) as mentions`

export const READ_JOINS = `
  left join chat_reads rd on rd.channel_id = c.id and rd.user_id = $2
  left join workspace_members wm on wm.workspace_id = c.workspace_id and wm.user_id = $2`

const SELECT = `
  select ${CHANNEL_COLUMNS}, ${TOP_SEQ} as seq, ${READ_COLUMNS},
    (select m.id from chat_messages m where m.channel_id = c.id and m.deleted_at is null order by m.seq desc limit 1) as last_id
  from channels c ${READ_JOINS}
  where c.workspace_id = $1 and ${VISIBLE}`
const ONE = `${SELECT} and c.id = $3`
const PAGE = `${SELECT}
  and ($3::timestamptz is null or (c.created_at, c.id) < ($3, $4::uuid))
  and ($5::text is null or c.kind = $5) and ($6::boolean is null or (c.archived_at is not null) = $6)
  order by c.created_at desc, c.id desc limit $7`
const LAST = `select ${MESSAGE_COLUMNS} from chat_messages m where m.id = any($1)`

/** The channels that somebody may see, each with what they have not read. */
export class ChannelList {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Newest first. */
  async list(
    { workspaceId, userId }: Member,
    query: Static<typeof ChannelsQuery>,
    page: PageRequest,
  ): Promise<PageResult<ChannelDetails>> {
    const { after, limit } = page
    const rows = await this.#sql.rows<DetailsRow>(PAGE, [
      workspaceId,
      userId,
      after?.createdAt ?? null,
      after?.id ?? null,
      query.kind ?? null,
      query.archived ?? null,
      limit + 1,
    ])
    const shown = rows.slice(0, limit)
    const lastMessages = await this.#messages(shown.flatMap(({ last_id: id }) => id ?? []))
    return pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      (row) => details(row, lastMessages),
    )
  }

  /** @throws AppError not_found */
  async get({ workspaceId, userId }: Member, channelId: string): Promise<ChannelDetails> {
    const row = await this.#sql.row<DetailsRow>(ONE, [workspaceId, userId, channelId])
    if (row === undefined) throw NotFound()
    return details(row, await this.#messages(row.last_id === null ? [] : [row.last_id]))
  }

  async #messages(ids: readonly string[]): Promise<ReadonlyMap<string, MessageRow>> {
    const rows = ids.length === 0 ? [] : await this.#sql.rows<MessageRow>(LAST, [ids])
    return new Map(rows.map((row) => [row.id, row]))
  }
}

function details(row: DetailsRow, messages: ReadonlyMap<string, MessageRow>): ChannelDetails {
  const last = row.last_id === null ? undefined : messages.get(row.last_id)
  return {
    ...channelState(row),
    seq: row.seq,
    readSeq: row.read_seq,
    muted: row.muted,
    unreadCount: row.unread,
    mentionCount: row.mentions,
    lastMessage: last === undefined ? null : messageView(last),
  }
}
