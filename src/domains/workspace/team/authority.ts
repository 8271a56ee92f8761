import type { Caller } from '../../../core/caller.ts'
import { Forbidden, NotFound } from '../../../core/errors.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Turn } from '../../../core/turn.ts'
import { mergedScopes, type MemberRow } from '../workspaces/memberships.ts'
import { CannotGrant, Outranked, OwnersOnly } from './errors.ts'
import { findMember, type TeamMemberRow } from './member-row.ts'

/** Who acts in a turn, and with what rights. */
export interface Actor {
  readonly userId: string
  readonly isOwner: boolean
  readonly scopes: ReadonlySet<Scope>
}

/**
 * The rights of a user at this place in the workspace's order. The pipeline has looked before the turn, maybe into a
 * cache; a demotion that was committed in between counts here.
 */
export async function rightsOf(turn: Turn, userId: string): Promise<Actor | undefined> {
  const row = await findMember(turn.sql, turn.workspaceId, userId)
  return row && { userId, isOwner: row.built_in_role === 'owner', scopes: mergedScopes(row) }
}

/**
 * Who asks for a change of the team.
 * @throws AppError not_found for one who is no member any more, forbidden for one who may not manage the team
 */
export async function managerOf(turn: Turn, caller: Caller): Promise<Actor> {
  const user = await rightsOf(turn, caller.userId)
  if (user === undefined) throw NotFound()
  const actor = withinKey(user, caller)
  if (!actor.scopes.has('team:manage')) {
    throw Forbidden({ message: 'You lack the scope team:manage in this workspace.' })
  }
  return actor
}

/** A key that is limited to scopes gives away no more than these, and is no owner. */
function withinKey(actor: Actor, { apiKey }: Caller): Actor {
  if (!apiKey?.scopes) return actor
  return { ...actor, isOwner: false, scopes: new Set(actor.scopes).intersection(apiKey.scopes) }
}

/** The scopes among those given that the actor lacks, each once. */
export function lackedBy(actor: Actor, scopes: Iterable<Scope>): Scope[] {
  return [...new Set(scopes)].filter((scope) => !actor.scopes.has(scope)).sort()
}

/** Everything that role, groups and added scopes give, including what removed scopes take away for now. */
export function unrestrictedScopes(row: MemberRow): Set<Scope> {
  return mergedScopes({ ...row, removed_scopes: [] })
}

/**
 * Nobody changes or deletes a member, role, group or invitation that has scopes they lack.
 * @param what names it in the message, such as `The role “Editors”`
 * @throws AppError outranked, naming the scopes
 */
export function requireNotOutranked(actor: Actor, scopes: Iterable<Scope>, what: string): void {
  const lacked = lackedBy(actor, scopes)
  if (lacked.length > 0) throw Outranked({ message: `${what} has scopes that you lack: ${lacked.join(', ')}.` })
}

/**
 * Checks the members whom a change of a role or group reaches: it must not give anything to, or take anything from, a
 * member who has scopes that the actor lacks. Changes that have no effect on such a member are fine.
 * @param after the member as the change leaves them
 * @throws AppError outranked
 */
export function requireReachable(
  actor: Actor,
  members: readonly TeamMemberRow[],
  after: (member: TeamMemberRow) => MemberRow,
): void {
  for (const member of members) {
    if (member.user_id === actor.userId || lackedBy(actor, unrestrictedScopes(member)).length === 0) continue
    if (mergedScopes(member).symmetricDifference(mergedScopes(after(member))).size === 0) continue
    requireNotOutranked(actor, unrestrictedScopes(member), `The change reaches ${member.email}, who`)
  }
}

/** Nobody grants what they lack. @throws AppError cannot_grant, naming the scopes */
export function requireGrantable(actor: Actor, scopes: Iterable<Scope>): void {
  const lacked = lackedBy(actor, scopes)
  if (lacked.length > 0) throw CannotGrant({ message: `You cannot grant what you do not hold: ${lacked.join(', ')}.` })
}

/** @throws AppError owners_only */
export function requireOwner(actor: Actor, message: string): void {
  if (!actor.isOwner) throw OwnersOnly({ message })
}
