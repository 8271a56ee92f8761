import { ValidationFailed } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'

/** Those of the users who are members of the turn's workspace, in the order in which they are named. */
export async function onlyMembers({ sql, workspaceId }: Turn, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const rows = await sql.rows<{ user_id: string }>(
    'select user_id from workspace_members where workspace_id = $1 and user_id = any($2)',
    [workspaceId, userIds],
  )
  const known = new Set(rows.map((row) => row.user_id))
  return userIds.filter((id) => known.has(id))
}

/**
 * For a list of people in a request.
 * @param field of the body, as it names them
 * @param listed the whole list where only some of it is asked about: errors point into it
 * @throws AppError validation_failed for those who are no members of the workspace
 */
export async function requireMembers(
  turn: Turn,
  field: string,
  userIds: readonly string[],
  listed: readonly string[] = userIds,
): Promise<void> {
  const known = new Set(await onlyMembers(turn, userIds))
  const errors = userIds
    .filter((id) => !known.has(id))
    .map((id) => ({
      path: `/body/${field}/${listed.indexOf(id)}`,
      code: 'no_member',
      message: 'must be a member of the workspace',
    }))
  if (errors.length > 0)
    throw ValidationFailed({ message: `${field} names somebody who is no member of the workspace.`, errors })
}
