import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'

/** What a workspace has many of, each under a name of its own there. */
type Collection = 'groups' | 'roles'

const NAMED = (table: Collection) =>
  `select id from ${table} where workspace_id = $1 and lower(name) = lower($2) and id is distinct from $3::uuid`
/** What a plan allows so many of, as the plan's limits call it. */
type Counted = Collection | 'folders' | 'rtmpDestinations'

const COUNT = (table: string) => `select count(*) as count from ${table} where workspace_id = $1`

const NAMED_IN = { groups: NAMED('groups'), roles: NAMED('roles') }
const COUNT_OF = {
  groups: COUNT('groups'),
  roles: COUNT('roles'),
  folders: COUNT('asset_folders'),
  rtmpDestinations: COUNT('rtmp_destinations'),
}

/** @param except the one that may have the name, when it is changed */
export async function isNameTaken(
  { sql, workspaceId }: Turn,
  collection: Collection,
  name: string,
  except: string | null = null,
): Promise<boolean> {
  return (await sql.row(NAMED_IN[collection], [workspaceId, name, except])) !== undefined
}

/** Room in the plan for one more. @throws AppError plan_limit_reached */
export async function requireRoom({ sql, workspaceId }: Turn, plans: PlanService, counted: Counted): Promise<void> {
  const row = await sql.row<{ count: number }>(COUNT_OF[counted], [workspaceId])
  await plans.requireRoom(workspaceId, counted, row?.count ?? 0)
}
