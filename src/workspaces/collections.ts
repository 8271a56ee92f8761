import type { Turn } from '../core/turn.ts'

/** What a workspace has many of, each under a name of its own there. Direct conversations have none, and do not count. */
type Collection = 'groups' | 'roles' | 'channels'

const NAMED = (table: Collection) =>
  `select id from ${table} where workspace_id = $1 and lower(name) = lower($2) and id is distinct from $3::uuid`
const COUNT = (table: Collection) => `select count(*) as count from ${table} where workspace_id = $1`

const NAMED_IN = { groups: NAMED('groups'), roles: NAMED('roles'), channels: NAMED('channels') }
const COUNT_OF = {
  groups: COUNT('groups'),
  roles: COUNT('roles'),
  channels: `${COUNT('channels')} and kind = 'channel'`,
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

export async function countOf({ sql, workspaceId }: Turn, collection: Collection): Promise<number> {
  const row = await sql.row<{ count: number }>(COUNT_OF[collection], [workspaceId])
  return row?.count ?? 0
}
