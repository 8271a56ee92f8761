import type { Caller, Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { withinKey } from '../../../core/key-limits.ts'
import type { Access, NamedOperation, PreludeBatch } from '../../../core/operation.ts'
import { requireScope } from '../../../core/require-scope.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Turn } from '../../../core/turn.ts'
import { KNOWN_MEMBERS, membersAmong } from './memberships.ts'

/** The membership and scope of a turn's caller, at the place that the turn has in the order of the workspace. */
export class MemberReadmission {
  async prepare(batch: PreludeBatch, userIds: readonly string[]): Promise<void> {
    const known = batch.memory(KNOWN_MEMBERS)
    const unknown = [...new Set(userIds)].filter((userId) => !known.has(userId))
    if (unknown.length === 0) return
    const members = await membersAmong(batch.sql, batch.workspaceId, unknown)
    for (const userId of unknown) known.set(userId, null)
    for (const member of members) known.set(member.userId, member)
  }

  member(operation: NamedOperation, caller: Caller, turn: Turn): Member | Promise<Member> {
    const known = turn.memory(KNOWN_MEMBERS).get(caller.userId)
    return known === undefined ? this.#read(operation, caller, turn) : admitted(operation.access, known, caller)
  }

  async #read(operation: NamedOperation, caller: Caller, turn: Turn): Promise<Member> {
    await this.prepare(turn, [caller.userId])
    return admitted(operation.access, turn.memory(KNOWN_MEMBERS).get(caller.userId) ?? null, caller)
  }
}

/**
 * For system turns that finish what a user began: whether the user may still do it, at this place in the workspace's
 * order.
 * @throws AppError not_found for somebody who is no member any more, forbidden without the scope
 */
export async function requireStillMember(turn: Turn, userId: string, scope: Scope): Promise<Member> {
  const known = turn.memory(KNOWN_MEMBERS).get(userId)
  if (known !== undefined) return admitted(scope, known)
  const [member = null] = await membersAmong(turn.sql, turn.workspaceId, [userId])
  return admitted(scope, member)
}

function admitted(access: Access, known: Member | null, caller?: Caller): Member {
  const member = withinKey(known ?? undefined, caller)
  if (member === undefined) throw NotFound()
  requireScope(member, access)
  return member
}
