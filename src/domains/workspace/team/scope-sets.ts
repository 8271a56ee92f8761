import { isScope, type Scope } from '../../../core/scope.ts'
import { requireGrantable, requireNotOutranked, type Actor } from './authority.ts'

/** What roles and groups have in common: scopes with a name. */
interface ScopeSet {
  readonly name: string
  readonly scopes: readonly Scope[]
}

type Kind = 'role' | 'group'

/** Checks that the actor has all scopes of a role or group. @throws AppError outranked */
export function requireMayChange(actor: Actor, kind: Kind, { name, scopes }: ScopeSet): void {
  requireNotOutranked(actor, scopes.filter(isScope), `The ${kind} “${name}”`)
}

/**
 * The name and the scopes of a role or group after a change that the actor may make.
 * @throws AppError outranked, cannot_grant
 */
export function afterChange(
  actor: Actor,
  kind: Kind,
  before: ScopeSet,
  change: { readonly name?: string; readonly scopes?: readonly Scope[] },
): { name: string; scopes: Scope[] } {
  requireMayChange(actor, kind, before)
  const scopes = [...(change.scopes ?? before.scopes.filter(isScope))].sort()
  requireGrantable(actor, scopes)
  return { name: change.name ?? before.name, scopes }
}

/** What the audit log records about a change of a role or group. */
export function auditedChange(before: ScopeSet, after: ScopeSet) {
  return { name: { from: before.name, to: after.name }, scopes: { from: before.scopes, to: after.scopes } }
}
