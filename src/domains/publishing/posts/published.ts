import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { postSegments, postTargets } from './tables.ts'

/** The published targets of an account that have changed since a time, the newest first, with their first segment. */
export const publishedTargets = query(
  { postTargets, postSegments },
  (db, $: { readonly accountId: string; readonly since: string; readonly limit: number }) =>
    db
      .selectFrom('postTargets as t')
      .innerJoin('postSegments as s', (join) => join.onRef('s.targetId', '=', 't.id').on('s.position', '=', 0))
      .select(['t.id', 't.postId', 't.publishedAt', 't.url', 't.remoteDeletedAt', 's.remote'])
      .select(raw<string | null>`s.part->>'text'`.as('text'))
      .where('t.accountId', '=', $.accountId)
      .where('t.publishedAt', 'is not', null)
      .where('s.remote', 'is not', null)
      .where('t.updatedAt', '>=', $.since)
      .orderBy('t.publishedAt', 'desc')
      .limit($.limit),
)

/** The states of the targets of a post, in their order. Empty if it is gone. */
export async function targetsOf(sql: Sql, postId: string) {
  return postTargets.find(
    sql,
    { postId },
    { columns: ['id', 'accountId', 'platform', 'status', 'publishedAt'], orderBy: ['position asc'] },
  )
}
