import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/index.ts'

/** What a plan limits per workspace, by the name of the limit. */
type Counted = 'folders'

const COUNT = (table: string) => `select count(*) as count from ${table} where workspace_id = $1`

const COUNT_OF = {
  folders: COUNT('asset_folders'),
}

/** Checks that the plan allows one more. @throws AppError plan_limit_reached */
export async function requireRoom({ sql, workspaceId }: Turn, plans: PlanService, counted: Counted): Promise<void> {
  const row = await sql.row<{ count: number }>(COUNT_OF[counted], [workspaceId])
  await plans.requireRoom(workspaceId, counted, row?.count ?? 0)
}
