import { sql as raw } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import { posts, postTargets } from './tables.ts'

export interface PublishedText {
  readonly postId: string
  readonly text: string
  /** Accounts that published it, and accounts that refused it. */
  readonly publishedCount: number
  readonly failedCount: number
}

const newestPublished = query({ posts, postTargets }, (db, $: { workspaceId: string; limit: number }) =>
  db
    .selectFrom('posts as p')
    .innerJoin('postTargets as t', 't.postId', 'p.id')
    .select((e) => [
      'p.id as postId',
      raw<string>`p.body->>'content'`.as('text'),
      e.fn.countAll<number>().filterWhere('t.status', 'in', ['published', 'partial']).as('publishedCount'),
      e.fn.countAll<number>().filterWhere('t.status', '=', 'failed').as('failedCount'),
    ])
    .where('p.workspaceId', '=', $.workspaceId)
    .where('p.deletedAt', 'is', null)
    .where(raw<boolean>`btrim(p.body->>'content') <> ''`)
    .groupBy('p.id')
    .having((e) => e(e.fn.countAll<number>().filterWhere('t.status', 'in', ['published', 'partial']), '>', 0))
    .orderBy('p.id', 'desc')
    .limit($.limit),
)

/** The newest posts of a workspace that at least one account has published, if they have a text. */
export function publishedTexts(sql: Sql, workspaceId: string, limit: number): Promise<PublishedText[]> {
  return newestPublished.rows(sql, { workspaceId, limit })
}
