import { expressionBuilder, type SelectQueryBuilder } from 'kysely'
import type { ChatDatabase } from './tables.ts'

/** The newest messages that are counted, with those of the user, which do not count. */
const MAX_COUNTED = 1_000

type Database = ChatDatabase & { c: ChatDatabase['channels']; rd: ChatDatabase['chatReads'] }

const e = expressionBuilder<Database, 'c' | 'rd'>()

/**
 * How far a user has read channel `c`, and the counts of later messages, where `rd` is their row of chat_reads if they
 * have one. Without one it counts from when they joined the workspace.
 */
export function readState({ joinedAt, userId }: { readonly joinedAt: string; readonly userId: string }) {
  const readSeq = e.fn.coalesce('rd.seq', e.lit(0))

  const newest = e
    .selectFrom('chatMessages as n')
    .select(['n.seq', 'n.authorId', 'n.createdAt', 'n.deletedAt', 'n.mentionsAll'])
    .whereRef('n.channelId', '=', 'c.id')
    .where('n.seq', '>', readSeq)
    .orderBy('n.seq', 'desc')
    .limit(e.lit(MAX_COUNTED))
  const byOthers = (of: typeof newest) =>
    e
      .selectFrom(of.as('m'))
      .select('m.seq')
      .where('m.authorId', '!=', userId)
      .where((m) => m.or([m('rd.seq', '>', m.lit(0)), m('m.createdAt', '>=', joinedAt)]))
  const byName = e
    .selectFrom('chatMentions as mt')
    .select('mt.seq')
    .where('mt.userId', '=', userId)
    .whereRef('mt.channelId', '=', 'c.id')
    .where('mt.seq', '>', readSeq)
    .limit(e.lit(MAX_COUNTED))
  const unread = byOthers(newest).where('m.deletedAt', 'is', null)
  // Each in its own subquery. Otherwise a `limit` applies to the whole union.
  const mentions = e
    .selectFrom(byName.as('named'))
    .select('named.seq')
    .union(e.selectFrom(byOthers(newest.where((n) => n.ref('n.mentionsAll'))).as('told')).select('told.seq'))

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
