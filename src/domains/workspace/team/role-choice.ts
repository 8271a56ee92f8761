import { ValidationFailed } from '../../../core/errors.ts'
import { BUILT_IN_ROLES, isScope, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { findRole, findRoleByName, type RoleRow } from '../workspaces/index.ts'

/** A built-in or custom role. */
export interface ChosenRole {
  readonly builtIn: BuiltInRole | null
  readonly roleId: string | null
  readonly name: string
  readonly scopes: readonly Scope[]
}

export function isBuiltIn(name: string): name is BuiltInRole {
  return Object.hasOwn(BUILT_IN_ROLES, name)
}

function builtInRole(name: BuiltInRole): ChosenRole {
  return { builtIn: name, roleId: null, name, scopes: BUILT_IN_ROLES[name] }
}

function customRole(row: RoleRow | undefined): ChosenRole | undefined {
  return row && { builtIn: null, roleId: row.id, name: row.name, scopes: row.scopes.filter(isScope) }
}

/** A role by its id. The id of a built-in role is its name. */
export async function roleById(sql: Sql, workspaceId: string, id: string): Promise<ChosenRole | undefined> {
  return isBuiltIn(id) ? builtInRole(id) : customRole(await findRole(sql, workspaceId, id))
}

async function roleByName(sql: Sql, workspaceId: string, name: string): Promise<ChosenRole | undefined> {
  const folded = name.toLowerCase()
  return isBuiltIn(folded) ? builtInRole(folded) : customRole(await findRoleByName(sql, workspaceId, name))
}

/**
 * The role that a request names by `role`, `roleId` or both. Undefined when it names none.
 * @throws AppError validation_failed when there is no such role, or when the fields name two different roles
 */
export async function roleOf(
  turn: Turn,
  input: { readonly role?: string; readonly roleId?: string },
): Promise<ChosenRole | undefined> {
  const { role, roleId } = input
  const named = role === undefined ? undefined : await roleByName(turn.sql, turn.workspaceId, role)
  if (role !== undefined && named === undefined) throw unknown('/body/role')
  if (roleId === undefined) return named
  const found = await roleById(turn.sql, turn.workspaceId, roleId)
  if (found === undefined) throw unknown('/body/roleId')
  // Members are shown with both fields, and clients may send back what they were shown.
  if (named !== undefined && named.name !== found.name)
    throw refused('/body/roleId', 'must name the same role as `role`')
  return found
}

function unknown(path: string) {
  return refused(path, 'is not a role of this workspace')
}

/** The validation error for one field. */
export function refused(path: string, message: string) {
  return ValidationFailed({ errors: [{ path, code: 'role', message }] })
}
