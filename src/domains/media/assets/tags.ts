import { sql, type Expression, type SqlBool } from 'kysely'
import type { Sql } from '../../../core/sql.ts'
import { isSeveral, query, type Values } from '../../../db/query.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { assetTags, mediaTables } from './tables.ts'

/** Whether an asset `a` of a workspace has a tag, as a condition that the index `assets_by_tag` serves. */
export function hasTag(workspaceId: Expression<unknown>, tag: Expression<unknown>): Expression<SqlBool> {
  return sql<SqlBool>`workspace_terms(a.workspace_id, a.tags) @> workspace_terms(${workspaceId}, array[${tag}]::text[])`
}

/** Whether an asset `a` of a workspace has one of the tags, as a condition that the same index serves. */
export function hasOneOfTags(workspaceId: Expression<unknown>, tags: Values<string>): Expression<SqlBool> {
  if (!isSeveral(tags)) return hasTag(workspaceId, sql`${tags}`)
  return sql<SqlBool>`workspace_terms(a.workspace_id, a.tags) && workspace_terms(${workspaceId}, ${tags}::text[])`
}

const countNew = query(mediaTables, (db, $: { workspaceId: string; tags: readonly string[] }) =>
  db
    .selectFrom(sql<{ tag: string }>`unnest(${$.tags}::text[])`.as<'given'>(sql`given (tag)`))
    .select(sql<number>`count(*)`.as('count'))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('assetTags as t')
            .select('t.tag')
            .where('t.workspaceId', '=', $.workspaceId)
            .whereRef('t.tag', '=', 'given.tag'),
        ),
      ),
    ),
)

const mostUsed = query(mediaTables, (db, $: { workspaceId: string; limit: number }) =>
  db
    .selectFrom('assetTags')
    .select(['tag', 'assetCount'])
    .where('workspaceId', '=', $.workspaceId)
    .orderBy('assetCount', 'desc')
    .orderBy('tag')
    .limit($.limit),
)

const MAX_LISTED = 1_000

/** Normalizes tags (Unicode normalization form C), so that tags that look the same are the same. */
export function tagsOf(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.normalize()))]
}

/** The tags of the assets of a workspace, most used first. */
export function listTags(database: Sql, workspaceId: string): Promise<{ tag: string; assetCount: number }[]> {
  return mostUsed.rows(database, { workspaceId, limit: MAX_LISTED })
}

/** Enforces the plan's limit on distinct tags. Assets in the bin do not count. */
export class AssetTags {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /**
   * Checks that the plan allows the tags of an asset. Counts the tags of the workspace only if one of them is new.
   * @param database the transaction of a turn, if the result must stay true until the tags are saved
   * @throws AppError plan_limit_reached
   */
  async requireRoom(database: Sql, workspaceId: string, tags: readonly string[] = []): Promise<void> {
    if (tags.length === 0) return
    const added = await countNew.row(database, { workspaceId, tags: tagsOf(tags) })
    if (added === undefined || added.count === 0) return
    await this.#plans.requireRoom(workspaceId, 'tags', await assetTags.count(database, { workspaceId }), added.count)
  }
}
