import type { Caller } from '../../../core/caller.ts'
import { Forbidden, NotFound } from '../../../core/errors.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Turn } from '../../../core/turn.ts'
import { findMembership, mergedScopes, type ScopeSources } from '../workspaces/index.ts'
import { CannotGrant, Outranked, OwnersOnly } from './errors.ts'
import type { TeamMember } from './member-row.ts'

/** The user who makes a change, with their scopes. */
export interface Actor {
  readonly userId: string
  readonly isOwner: boolean
  readonly scopes: ReadonlySet<Scope>
}

/**
 * A user with their scopes, as of this turn. The pipeline has checked the scopes before the turn, possibly from a cache.
 * Changes that were committed in between count here.
 */
export async function rightsOf(turn: Turn, userId: string): Promise<Actor | undefined> {
  const member = await findMembership(turn.sql, turn.workspaceId, userId)
  return member && { userId, isOwner: member.role === 'owner', scopes: mergedScopes(member) }
}

/**
 * The caller of a change of the team.
 * @throws AppError not_found when they are no longer a member, forbidden when they may not manage the team
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

/** An API key that is limited to some scopes cannot grant others, and does not count as an owner. */
function withinKey(actor: Actor, { apiKey }: Caller): Actor {
  if (!apiKey?.scopes) return actor
  return { ...actor, isOwner: false, scopes: new Set(actor.scopes).intersection(apiKey.scopes) }
}

/** The scopes that the actor lacks, without duplicates. */
export function lackedBy(actor: Actor, scopes: Iterable<Scope>): Scope[] {
  return [...new Set(scopes)].filter((scope) => !actor.scopes.has(scope)).sort()
}

/** The scopes of role and groups plus added scopes. Removed scopes are not subtracted. */
export function unrestrictedScopes(sources: ScopeSources): Set<Scope> {
  return mergedScopes({ ...sources, removedScopes: [] })
}

/**
 * Checks that the actor has all scopes of the member, role, group or invitation that they want to change or delete.
 * @param what the subject of the message, such as `The role “Editors”`
 * @throws AppError outranked, naming the missing scopes
 */
export function requireNotOutranked(actor: Actor, scopes: Iterable<Scope>, what: string): void {
  const lacked = lackedBy(actor, scopes)
  if (lacked.length > 0) throw Outranked({ message: `${what} has scopes that you lack: ${lacked.join(', ')}.` })
}

/**
 * Checks the members whom a change of a role or group affects: the change must not alter the scopes of a member who has
 * scopes that the actor lacks.
 * @param after what the scopes of a member come from after the change
 * @throws AppError outranked
 */
export function requireReachable(
  actor: Actor,
  members: readonly TeamMember[],
  after: (member: TeamMember) => ScopeSources,
): void {
  for (const member of members) {
    if (member.userId === actor.userId || lackedBy(actor, unrestrictedScopes(member)).length === 0) continue
    if (mergedScopes(member).symmetricDifference(mergedScopes(after(member))).size === 0) continue
    requireNotOutranked(actor, unrestrictedScopes(member), `The change affects ${member.email}, who`)
  }
}

/** Checks that the actor has all scopes that they want to grant. @throws AppError cannot_grant, naming the missing scopes */
export function requireGrantable(actor: Actor, scopes: Iterable<Scope>): void {
  const lacked = lackedBy(actor, scopes)
  if (lacked.length > 0) throw CannotGrant({ message: `You cannot grant scopes that you lack: ${lacked.join(', ')}.` })
}

/** @throws AppError owners_only */
export function requireOwner(actor: Actor, message: string): void {
  if (!actor.isOwner) throw OwnersOnly({ message })
}
