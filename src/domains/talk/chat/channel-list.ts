import { sql } from 'kysely'
import type { Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import { CHANNEL, channelState, topSeq, visibleTo, type ChannelRow } from './channel-row.ts'
import { findMessages } from './message-store.ts'
import { readState } from './read-state.ts'
import type { ChannelDetails, ChannelsQuery, MessageData } from './schemas.ts'
import { chatTables } from './tables.ts'

interface DetailsQuery {
  readonly workspaceId: string
  readonly userId: string
  readonly joinedAt: string
  readonly channelId?: string | undefined
  readonly kind?: Values<'channel' | 'dm'> | undefined
  readonly archived?: boolean | undefined
  /** The last channel of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** The channels that a user may see, newest first. */
const visibleChannels = query(chatTables, (db, $: DetailsQuery) => {
  let found = db
    .selectFrom('channels as c')
    .leftJoin('chatReads as rd', (join) => join.onRef('rd.channelId', '=', 'c.id').on('rd.userId', '=', $.userId))
    .select([...CHANNEL, topSeq.as('seq'), ...readState($)])
    .select((e) =>
      e
        .selectFrom('chatMessages as m')
        .select('m.id')
        .whereRef('m.channelId', '=', 'c.id')
        .where('m.deletedAt', 'is', null)
        .orderBy('m.seq', 'desc')
        .limit(e.lit(1))
        .as('lastMessageId'),
    )
    .where('c.workspaceId', '=', $.workspaceId)
    .where(visibleTo($.userId))
    .orderBy('c.id', 'desc')
    .limit($.limit)
  if ($.channelId !== undefined) found = found.where('c.id', '=', $.channelId)
  if ($.kind !== undefined) found = found.where(isOneOf('c.kind', $.kind))
  if ($.archived !== undefined) found = found.where(sql<boolean>`(c.archived_at is not null) = ${$.archived}`)
  if ($.after !== undefined) found = found.where('c.id', '<', $.after)
  return found
})

interface DetailsRow extends ChannelRow {
  readonly seq: number
  readonly readSeq: number
  readonly muted: boolean
  readonly unreadCount: number
  readonly mentionCount: number
  readonly lastMessageId: string | null
}

/** The channels that a user may see, each with its unread counts. */
export class ChannelList {
  readonly #sql: Sql

  constructor(database: Sql) {
    this.#sql = database
  }

  /** Newest first. */
  async list(
    { workspaceId, userId, joinedAt }: Member,
    { kind, archived }: Static<typeof ChannelsQuery>,
    { after, limit }: PageRequest,
  ): Promise<PageResult<ChannelDetails>> {
    const rows = await visibleChannels.rows(this.#sql, {
      workspaceId,
      userId,
      joinedAt,
      kind: values(kind),
      archived,
      after: after?.id,
      limit: limit + 1,
    })
    const lastMessages = await this.#lastMessages(rows.slice(0, limit))
    return pageOf(
      rows,
      limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => details(row, lastMessages),
    )
  }

  /** @throws AppError not_found */
  async get({ workspaceId, userId, joinedAt }: Member, channelId: string): Promise<ChannelDetails> {
    const row = await visibleChannels.row(this.#sql, { workspaceId, userId, joinedAt, channelId, limit: 1 })
    if (row === undefined) throw NotFound()
    return details(row, await this.#lastMessages([row]))
  }

  async #lastMessages(rows: readonly DetailsRow[]): Promise<ReadonlyMap<string, MessageData>> {
    const messages = await findMessages(
      this.#sql,
      rows.flatMap(({ lastMessageId }) => lastMessageId ?? []),
    )
    return new Map(messages.map((message) => [message._id, message]))
  }
}

function details(row: DetailsRow, messages: ReadonlyMap<string, MessageData>): ChannelDetails {
  return {
    ...channelState(row),
    seq: row.seq,
    readSeq: row.readSeq,
    muted: row.muted,
    unreadCount: row.unreadCount,
    mentionCount: row.mentionCount,
    lastMessage: messages.get(row.lastMessageId ?? '') ?? null,
  }
}
