import type { Member } from '../core/caller.ts'
import { NotFound } from '../core/errors.ts'
import type { NamedOperation, PreludeBatch } from '../core/operation.ts'
import { requireScope } from '../core/require-scope.ts'
import type { Turn } from '../core/turn.ts'
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

  member(operation: NamedOperation, userId: string, turn: Turn): Member | Promise<Member> {
    const known = turn.memory(KNOWN_MEMBERS).get(userId)
    return known === undefined ? this.#read(operation, userId, turn) : admitted(operation, known)
  }

  async #read(operation: NamedOperation, userId: string, turn: Turn): Promise<Member> {
    await this.prepare(turn, [userId])
    return admitted(operation, turn.memory(KNOWN_MEMBERS).get(userId) ?? null)
  }
}

function admitted(operation: NamedOperation, member: Member | null): Member {
  if (member === null) throw NotFound()
  requireScope(member, operation.access)
  return member
}
