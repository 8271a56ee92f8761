import { ValidationFailed } from '../../../core/errors.ts'
import { BUILT_IN_ROLES, isScope, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'

/** A role as it stands: built in, or one of the workspace's own. */
export interface ChosenRole {
  readonly builtIn: BuiltInRole | null
  readonly roleId: string | null
  readonly name: string
  readonly scopes: readonly Scope[]
}

interface RoleRow {
  id: string
  name: string
  scopes: string[]
}

export function isBuiltIn(name: string): name is BuiltInRole {
  return Object.hasOwn(BUILT_IN_ROLES, name)
}

function builtInRole(name: BuiltInRole): ChosenRole {
  return { builtIn: name, roleId: null, name, scopes: BUILT_IN_ROLES[name] }
}

const own = (row: RoleRow): ChosenRole => ({
  builtIn: null,
  roleId: row.id,
  name: row.name,
  scopes: row.scopes.filter(isScope),
})

/** A role by its id; a built-in role's is its name. */
export async function roleById(sql: Sql, workspaceId: string, id: string): Promise<ChosenRole | undefined> {
  if (isBuiltIn(id)) return builtInRole(id)
  const row = await sql.row<RoleRow>('select id, name, scopes from roles where workspace_id = $1 and id = $2', [
    workspaceId,
    id,
  ])
  return row && own(row)
}

async function roleByName(sql: Sql, workspaceId: string, name: string): Promise<ChosenRole | undefined> {
  const folded = name.toLowerCase()
  if (isBuiltIn(folded)) return builtInRole(folded)
  const row = await sql.row<RoleRow>(
    'select id, name, scopes from roles where workspace_id = $1 and lower(name) = lower($2)',
    [workspaceId, name],
  )
  return row && own(row)
}

/**
 * The role that a request names by `role`, `roleId` or both; undefined when it names none.
 * @throws AppError validation_failed for a role that there is not, or for two
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
  // A member is shown with both, and may be sent back as they were shown.
  if (named !== undefined && named.name !== found.name)
    throw refused('/body/roleId', 'must be of the same role as role')
  return found
}

function unknown(path: string) {
  return refused(path, 'is no role of this workspace')
}

/** The 400 of one field. */
export function refused(path: string, message: string) {
  const field = path.replace(/^\/(body|query)\//, '').replaceAll('/', '.')
  return ValidationFailed({ message: `${field} ${message}.`, errors: [{ path, code: 'role', message }] })
}
