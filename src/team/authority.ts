import type { Caller } from '../core/caller.ts'
import { Forbidden, NotFound } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import type { Turn } from '../core/turn.ts'
import { mergedScopes } from '../workspaces/memberships.ts'
import { CannotGrant, OwnersOnly } from './errors.ts'
import { findMember } from './member-row.ts'

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
  const actor = await rightsOf(turn, caller.userId)
  if (actor === undefined) throw NotFound()
  if (!actor.scopes.has('team:manage')) {
    throw Forbidden({ message: 'You lack the scope team:manage in this workspace.' })
  }
  return actor
}

/** The scopes among those given that the actor lacks, each once. */
export function lackedBy(actor: Actor, scopes: Iterable<Scope>): Scope[] {
  return [...new Set(scopes)].filter((scope) => !actor.scopes.has(scope)).sort()
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
