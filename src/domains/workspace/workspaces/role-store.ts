import type { BuiltInRole } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf, not, sameText } from '../../../db/condition.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import type { NewRow, Row } from '../../../db/row.ts'
import { roles, workspaceTables, type Role } from './tables.ts'

/** A custom role. */
export type RoleRow = Row<typeof Role>

/** A custom role with the number of its members. */
export interface CountedRole extends RoleRow {
  readonly memberCount: number
}

const countedRoles = query(workspaceTables, (db, $: { workspaceId: string; id?: string }) => {
  const found = db
    .selectFrom('roles as r')
    .select(['r.id', 'r.workspaceId', 'r.name', 'r.scopes', 'r.version', 'r.createdAt', 'r.updatedAt'])
    .select((e) => {
      const holders = e
        .selectFrom('workspaceMembers as m')
        .select((m) => m.fn.countAll<number>().as('count'))
        .whereRef('m.roleId', '=', 'r.id')
      return e.fn.coalesce(holders, e.lit(0)).as('memberCount')
    })
    .where('r.workspaceId', '=', $.workspaceId)
    .orderBy('r.id')
  return $.id === undefined ? found : found.where('r.id', '=', $.id)
})

const builtInCounts = query(workspaceTables, (db, $: { workspaceId: string }) =>
  db
    .selectFrom('workspaceMembers as m')
    .select((e) => ['m.role', e.fn.countAll<number>().as('count')])
    .where('m.workspaceId', '=', $.workspaceId)
    .where('m.role', 'is not', null)
    .groupBy('m.role'),
)

/** The custom roles of a workspace, oldest first. */
export function listRoles(database: Sql, workspaceId: string): Promise<CountedRole[]> {
  return countedRoles.rows(database, { workspaceId })
}

export function findRole(database: Sql, workspaceId: string, id: string): Promise<CountedRole | undefined> {
  return countedRoles.row(database, { workspaceId, id })
}

export function findRoles(database: Sql, ids: readonly string[]): Promise<RoleRow[]> {
  return roles.find(database, { id: anyOf(ids) })
}

/** @param except the id of a role that is left out */
export function findRoleByName(
  database: Sql,
  workspaceId: string,
  name: string,
  except?: string,
): Promise<RoleRow | undefined> {
  return roles.first(database, { workspaceId, name: sameText(name), ...(except !== undefined && { id: not(except) }) })
}

/** How many members have each built-in role. */
export async function countBuiltInRoles(
  database: Sql,
  workspaceId: string,
): Promise<ReadonlyMap<BuiltInRole | null, number>> {
  const rows = await builtInCounts.rows(database, { workspaceId })
  return new Map(rows.map(({ role, count }) => [role, count]))
}

export function countRoles(database: Sql, workspaceId: string): Promise<number> {
  return roles.count(database, { workspaceId })
}

export function addRole(turn: Turn, role: Omit<NewRow<typeof Role>, 'workspaceId'>): void {
  turn.insert(roles, { ...role, workspaceId: turn.workspaceId })
}

export async function changeRole(
  database: Sql,
  id: string,
  change: Pick<NewRow<typeof Role>, 'name' | 'scopes'>,
  now: Date,
): Promise<void> {
  await roles.update(database, { id }, { ...change, version: increment(), updatedAt: now })
}

/** Deletes a role that no member has. Invitations that name it lose it. */
export async function deleteRole(database: Sql, id: string): Promise<void> {
  await roles.delete(database, { id })
}
