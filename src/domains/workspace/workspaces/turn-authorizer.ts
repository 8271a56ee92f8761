import type { Caller, Member } from '../../../core/caller.ts'
import { NotFound } from '../../../core/errors.ts'
import { withinKey } from '../../../core/key-limits.ts'
import type { Access, NamedOperation, PreludeBatch } from '../../../core/operation.ts'
import { requireScope } from '../../../core/require-scope.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Turn } from '../../../core/turn.ts'
import { KNOWN_MEMBERS, membersAmong } from './memberships.ts'

/** Checks the membership and the scope of a caller inside the turn, from what the actor remembers of its members. */
export class MemberTurnAuthorizer {
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
    return known === undefined ? this.#read(operation, caller, turn) : authorized(operation.access, known, caller)
  }

  async #read(operation: NamedOperation, caller: Caller, turn: Turn): Promise<Member> {
    await this.prepare(turn, [caller.userId])
    return authorized(operation.access, turn.memory(KNOWN_MEMBERS).get(caller.userId) ?? null, caller)
  }
}

/**
 * Checks, in a system turn that completes an action of a user, that the user may still do it.
 * @throws AppError not_found when they are no longer a member, forbidden without the scope
 */
export async function requireStillMember(turn: Turn, userId: string, scope: Scope): Promise<Member> {
  const known = turn.memory(KNOWN_MEMBERS).get(userId)
  if (known !== undefined) return authorized(scope, known)
  const [member = null] = await membersAmong(turn.sql, turn.workspaceId, [userId])
  return authorized(scope, member)
}

function authorized(access: Access, known: Member | null, caller?: Caller): Member {
  const member = withinKey(known ?? undefined, caller)
  if (member === undefined) throw NotFound()
  requireScope(member, access)
  return member
}
