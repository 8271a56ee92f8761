import type { Sql } from '../../../core/sql.ts'
import type { PlanService } from '../../money/plans/service.ts'

const UNKNOWN = `
  select count(*)::int as count from unnest($2::text[]) as given (tag)
  where not exists (select from assets where workspace_id = $1 and deleted_at is null and tags @> array[given.tag])`
const KNOWN = `
  select count(distinct tag)::int as count from assets, unnest(tags) as tag
  where workspace_id = $1 and deleted_at is null`

/** Tags that look the same are the same: a letter with its accent in one sign or in two (Unicode normalization form C). */
export function tagsOf(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.normalize()))]
}

/** The tags of a workspace's assets. Those of assets in the bin do not count. */
export class AssetTags {
  readonly #plans: PlanService

  constructor(plans: PlanService) {
    this.#plans = plans
  }

  /**
   * Room in the plan for the tags of an asset. The tags of the workspace are counted only when one of them is new.
   * @param sql of a turn, where the answer is to hold until the asset has them
   * @throws AppError plan_limit_reached
   */
  async requireRoom(sql: Sql, workspaceId: string, tags: readonly string[] = []): Promise<void> {
    if (tags.length === 0) return
    const fresh = await sql.row<{ count: number }>(UNKNOWN, [workspaceId, tagsOf(tags)])
    if (fresh === undefined || fresh.count === 0) return
    const known = await sql.row<{ count: number }>(KNOWN, [workspaceId])
    await this.#plans.requireRoom(workspaceId, 'tags', known?.count ?? 0, fresh.count)
  }
}
