import type { Caller, Member } from './caller.ts'

/** Whether the caller's API key may do less than its user. */
export function isLimited({ apiKey }: Pick<Caller, 'apiKey'>): boolean {
  return apiKey !== undefined && (apiKey.scopes !== null || apiKey.workspaceIds !== null)
}

/**
 * A membership as far as the caller's API key reaches: undefined in a workspace that the key does not open, else with
 * those scopes of the member that the key has too.
 */
export function withinKey(member: Member | undefined, caller: Pick<Caller, 'apiKey'> | undefined): Member | undefined {
  const apiKey = caller?.apiKey
  if (member === undefined || apiKey === undefined) return member
  if (apiKey.workspaceIds !== null && !apiKey.workspaceIds.has(member.workspaceId)) return undefined
  if (apiKey.scopes === null) return member
  return { ...member, scopes: member.scopes.intersection(apiKey.scopes), key: 'limited' }
}
