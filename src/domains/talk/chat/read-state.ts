import { expressionBuilder, type SelectQueryBuilder } from 'kysely'
import type { ChatDatabase } from './tables.ts'

/** The maximum number of messages that are counted. */
const MOST_COUNTED = 1_000

type Database = ChatDatabase & { c: ChatDatabase['channels']; rd: ChatDatabase['chatReads'] }

const e = expressionBuilder<Database, 'c' | 'rd'>()

/**
 * How far a user has read channel `c`, and the counts of later messages, where `rd` is their row of chat_reads if they
 * have one. Without one it counts from when they joined the workspace.
 */
export function readState({ joinedAt, userId }: { readonly joinedAt: string; readonly userId: string }) {
  const readSeq = e.fn.coalesce('rd.seq', e.lit(0))

  const later = e
    .selectFrom('chatMessages as m')
    .select('m.seq')
    .whereRef('m.channelId', '=', 'c.id')
    .where('m.seq', '>', readSeq)
    .where('m.authorId', '!=', userId)
    .where((m) => m.or([m('rd.seq', '>', m.lit(0)), m('m.createdAt', '>=', joinedAt)]))
    .limit(e.lit(MOST_COUNTED))
  const byName = e
    .selectFrom('chatMentions as mt')
    .select('mt.seq')
    .where('mt.userId', '=', userId)
    .whereRef('mt.channelId', '=', 'c.id')
    .where('mt.seq', '>', readSeq)
    .limit(e.lit(MOST_COUNTED))
  const unread = later.where('m.deletedAt', 'is', null)
  // Each in its own subquery. Otherwise a `limit` applies to the whole union.
  const mentions = e
    .selectFrom(byName.as('named'))
    .select('named.seq')
    .union(e.selectFrom(later.where((m) => m.ref('m.mentionsAll')).as('told')).select('told.seq'))

  return [
    readSeq.as('readSeq'),
    e.fn.coalesce('rd.muted', e.lit(false)).as('muted'),
    count(unread).as('unreadCount'),
    count(mentions).as('mentionCount'),
  ] as const
}

function count<O>(counted: SelectQueryBuilder<Database, never, O>) {
  return e.fn.coalesce(
    e.selectFrom(counted.as('counted')).select((all) => all.fn.countAll<number>().as('count')),
    e.lit(0),
  )
}
