import type { Caller, Member } from './caller.ts'

/** Whether the caller's API key has fewer permissions than its user. */
export function isLimited({ apiKey }: Pick<Caller, 'apiKey'>): boolean {
  return apiKey !== undefined && (apiKey.scopes !== null || apiKey.workspaceIds !== null)
}

/**
 * Limits a membership to what the caller's API key allows: undefined if the key does not include the workspace,
 * otherwise only the scopes that both the member and the key have.
 */
export function withinKey(member: Member | undefined, caller: Pick<Caller, 'apiKey'> | undefined): Member | undefined {
  const apiKey = caller?.apiKey
  if (member === undefined || apiKey === undefined) return member
  if (apiKey.workspaceIds !== null && !apiKey.workspaceIds.has(member.workspaceId)) return undefined
  if (apiKey.scopes === null) return member
  return { ...member, scopes: member.scopes.intersection(apiKey.scopes), key: 'limited' }
}
