import type { Caller, Member } from './caller.ts'
import type { Scope } from './scope.ts'

/** Whether the caller's API key has fewer permissions than its user. */
export function isLimited({ apiKey }: Pick<Caller, 'apiKey'>): boolean {
  return apiKey !== undefined && (apiKey.scopes !== null || apiKey.workspaceIds !== null)
}

const NO_SCOPES: ReadonlySet<Scope> = new Set()

/**
 * Limits a membership to what the caller's credential allows: undefined if the API key does not include the workspace,
 * otherwise only the scopes that both the member and the key have. Without the second factor that the workspace requires,
 * it has none.
 */
export function withinKey(
  member: Member | undefined,
  caller: Pick<Caller, 'apiKey' | 'secondFactor'> | undefined,
): Member | undefined {
  const apiKey = caller?.apiKey
  if (member === undefined || caller === undefined) return member
  if (apiKey && apiKey.workspaceIds !== null && !apiKey.workspaceIds.has(member.workspaceId)) return undefined
  if (member.secondFactor === 'required' && caller.secondFactor !== true) {
    return { ...member, scopes: NO_SCOPES, secondFactor: 'missing' }
  }
  if (apiKey === undefined) return member
  if (apiKey.scopes === null) return member
  return { ...member, scopes: member.scopes.intersection(apiKey.scopes), key: 'limited' }
}
