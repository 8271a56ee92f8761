import type { BuiltInRole } from '../../../core/scope.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { pictureUrl } from '../../identity/users/index.ts'
import { MEMBER_COLUMNS, mergedScopes, roleName, type MemberRow } from '../workspaces/memberships.ts'
import type { MemberState } from './schemas.ts'

/** A member with the person behind it, as prepared SQL reads it. */
export interface TeamMemberRow extends MemberRow {
  workspace_id: string
  user_id: string
  name: string
  email: string
  picture_id: string | null
  role_id: string | null
  groups: { _id: string; name: string }[] | null
  version: number
  joined_at: string
  updated_at: string
}

/** For `m` a row of workspace_members. */
export const SELECT_MEMBER = `
  select m.workspace_id, m.user_id, u.name, u.email, u.picture_id, m.role_id, m.version, m.joined_at, m.updated_at,
    ${MEMBER_COLUMNS},
    (select json_agg(json_build_object('_id', g.id, 'name', g.name) order by g.name, g.id)
      from group_members gm join groups g on g.id = gm.group_id
      where gm.workspace_id = m.workspace_id and gm.user_id = m.user_id) as groups
  from workspace_members m
  join workspaces w on w.id = m.workspace_id and w.deleted_at is null
  join users u on u.id = m.user_id
  left join roles r on r.id = m.role_id`

const ONE = `${SELECT_MEMBER} where m.workspace_id = $1 and m.user_id = $2`
const SOME = `${SELECT_MEMBER} where m.workspace_id = $1 and m.user_id = any($2) order by m.user_id`
const HOLDERS = `${SELECT_MEMBER} where m.workspace_id = $1 and m.role_id = $2 order by m.user_id`

/** A member of a workspace that is not deleted. */
export function findMember(sql: Sql, workspaceId: string, userId: string): Promise<TeamMemberRow | undefined> {
  return sql.row<TeamMemberRow>(ONE, [workspaceId, userId])
}

export function findMembers(sql: Sql, workspaceId: string, userIds: readonly string[]): Promise<TeamMemberRow[]> {
  return sql.rows<TeamMemberRow>(SOME, [workspaceId, userIds])
}

/** The members who have a custom role. */
export function findHolders(sql: Sql, workspaceId: string, roleId: string): Promise<TeamMemberRow[]> {
  return sql.rows<TeamMemberRow>(HOLDERS, [workspaceId, roleId])
}

/** What the API shows of a member; who is online is known elsewhere. */
export function memberState(row: TeamMemberRow): Static<typeof MemberState> {
  return {
    _id: row.user_id,
    workspaceId: row.workspace_id,
    name: row.name,
    email: row.email,
    pictureUrl: row.picture_id && pictureUrl(row.picture_id),
    role: roleName(row),
    roleId: row.role_id ?? (row.built_in_role as BuiltInRole),
    scopes: [...mergedScopes(row)].sort(),
    overrides: { granted: [...row.added_scopes].sort(), revoked: [...row.removed_scopes].sort() },
    groups: row.groups ?? [],
    version: row.version,
    createdAt: row.joined_at,
    updatedAt: row.updated_at,
  }
}
