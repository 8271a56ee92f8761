import { ValidationFailed } from '../../../core/errors.ts'
import type { Turn } from '../../../core/turn.ts'
import { anyOf } from '../../../db/condition.ts'
import { workspaceMembers } from './tables.ts'

/** Which of the users are members of the turn's workspace, in the given order. */
export async function onlyMembers({ sql, workspaceId }: Turn, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const rows = await workspaceMembers.find(sql, { workspaceId, userId: anyOf(userIds) }, { columns: ['userId'] })
  const known = new Set(rows.map(({ userId }) => userId))
  return userIds.filter((id) => known.has(id))
}

/**
 * Checks a list of user ids in a request.
 * @param field the field of the body that holds the list
 * @param listed the whole list, if `userIds` is only a part of it; errors name positions in it
 * @throws AppError validation_failed naming the users who are no members of the workspace
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
    throw ValidationFailed({ message: `The field ${field} names a user who is not a member of the workspace.`, errors })
}
