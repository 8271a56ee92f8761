import { expressionBuilder, sql } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { generation } from '../../../db/history.ts'
import { query } from '../../../db/query.ts'
import type { Row } from '../../../db/row.ts'
import type { ChannelData } from './schemas.ts'
import { chatTables, type Channel, type ChatDatabase } from './tables.ts'

/** A channel with the ids of its members. */
export type ChannelRow = Omit<Row<typeof Channel>, 'people'> & { readonly memberIds: string[] }

const e = expressionBuilder<ChatDatabase & { c: ChatDatabase['channels'] }, 'c'>()

const memberIds = sql<string[]>`array${e
  .selectFrom('channelMembers as cm')
  .select('cm.userId')
  .whereRef('cm.channelId', '=', 'c.id')
  .orderBy('cm.userId')}`

/** The columns of a `ChannelRow`, where `c` is a row of channels. */
export const CHANNEL = [
  'c.id',
  'c.workspaceId',
  'c.kind',
  'c.name',
  'c.topic',
  'c.private',
  'c.createdBy',
  'c.archivedAt',
  'c.version',
  'c.createdAt',
  'c.updatedAt',
  memberIds.as('memberIds'),
] as const

const log = e.selectFrom('chatLog as l').whereRef('l.channelId', '=', 'c.id')

/** Number of the newest change of a channel `c`; 0 before the first. */
export const topSeq = e.fn.coalesce(
  log.select((l) => l.fn.max('l.seq').as('top')),
  e.lit(0),
)

const lowSeq = e.fn.coalesce(
  log.select((l) => l.fn.min('l.seq').as('low')),
  e.lit(0),
)

/** Whether a member who may read chat may see channel `c`. */
export function visibleTo(userId: string) {
  return e.or([
    e.not('c.private'),
    e.exists(
      e
        .selectFrom('channelMembers as vm')
        .select('vm.userId')
        .whereRef('vm.channelId', '=', 'c.id')
        .whereRef('vm.workspaceId', '=', 'c.workspaceId')
        .where('vm.userId', '=', userId),
    ),
  ])
}

export function channelState(row: ChannelRow): ChannelData {
  const { id, workspaceId, kind, name, topic, archivedAt, createdBy, memberIds: members, version } = row
  return {
    _id: id,
    workspaceId,
    kind,
    name,
    topic,
    private: row.private,
    archivedAt,
    createdBy,
    memberIds: members,
    version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** Whether a member who may read chat may see the channel. */
export function isVisibleTo(channel: ChannelData, userId: string): boolean {
  return !channel.private || channel.memberIds.includes(userId)
}

/** Channels of a workspace by id, or the direct conversation of some people, each with its newest number. */
export const channelRows = query(
  chatTables,
  (db, $: { workspaceId: string; ids?: readonly string[]; people?: string }) => {
    const found = db
      .selectFrom('channels as c')
      .select(CHANNEL)
      .select(topSeq.as('seq'))
      .where('c.workspaceId', '=', $.workspaceId)
    return $.ids === undefined
      ? found.where('c.people', '=', $.people ?? '')
      : found.where('c.id', '=', sql<string>`any(${$.ids})`)
  },
)

const loggedRange = query(chatTables, (db, $: { workspaceId: string; userId: string; channelId: string }) =>
  db
    .selectFrom('channels as c')
    .select([lowSeq.as('low'), topSeq.as('top'), generation.as('generation')])
    .where('c.workspaceId', '=', $.workspaceId)
    .where('c.id', '=', $.channelId)
    .where(visibleTo($.userId)),
)

/**
 * The first and the last number in the log of a channel, and their `Generation`. Undefined for a channel that the user may
 * not see.
 */
export function findRange(
  database: Sql,
  workspaceId: string,
  userId: string,
  channelId: string,
): Promise<{ low: number; top: number; generation: string } | undefined> {
  return loggedRange.row(database, { workspaceId, userId, channelId })
}
