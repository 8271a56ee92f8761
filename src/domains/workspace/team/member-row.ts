import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { findUsers, pictureUrl, type UserRow } from '../../identity/users/index.ts'
import {
  findMembership,
  findMemberships,
  mergedScopes,
  roleName,
  type Membership,
  type MembershipFilter,
} from '../workspaces/index.ts'
import type { MemberState } from './schemas.ts'

type Profile = Pick<UserRow, 'id' | 'name' | 'email' | 'pictureId'>

/** A membership with the profile of the user. */
export interface TeamMember extends Membership, Omit<Profile, 'id'> {}

/** Adds profiles to memberships; keeps the order. */
export async function withProfiles(sql: Sql, memberships: readonly Membership[]): Promise<TeamMember[]> {
  if (memberships.length === 0) return []
  const ids = memberships.map(({ userId }) => userId)
  const users = await findUsers(sql, ids, { columns: ['id', 'name', 'email', 'pictureId'] })
  const profiles = new Map(users.map((user) => [user.id, user]))
  return memberships.flatMap((membership) => {
    const profile = profiles.get(membership.userId)
    if (profile === undefined) return []
    const { name, email, pictureId } = profile
    return [{ ...membership, name, email, pictureId }]
  })
}

/** A member of a workspace that is not deleted. */
export async function findMember(sql: Sql, workspaceId: string, userId: string): Promise<TeamMember | undefined> {
  const membership = await findMembership(sql, workspaceId, userId)
  return membership && (await withProfiles(sql, [membership]))[0]
}

/** Members of a workspace that is not deleted, by user id. */
export async function findMembers(sql: Sql, filter: MembershipFilter): Promise<TeamMember[]> {
  return withProfiles(sql, await findMemberships(sql, filter))
}

/** A member as the API shows them, without presence. */
export function memberState(member: TeamMember): Static<typeof MemberState> {
  return {
    _id: member.userId,
    workspaceId: member.workspaceId,
    name: member.name,
    email: member.email,
    pictureUrl: member.pictureId && pictureUrl(member.pictureId),
    role: roleName(member),
    roleId: member.roleId ?? roleName(member),
    scopes: [...mergedScopes(member)].sort(),
    overrides: { granted: [...member.addedScopes].sort(), revoked: [...member.removedScopes].sort() },
    groups: [...member.groups],
    version: member.version,
    createdAt: member.joinedAt,
    updatedAt: member.updatedAt,
  }
}
