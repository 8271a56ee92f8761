import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import { mergedScopes, roleName, type MemberRow } from '../workspaces/memberships.ts'
import type { InvitationData, InvitationPreview, InvitationStatus, MyInvitation } from './schemas.ts'

/** An invitation with what it promises, as prepared SQL reads it. */
export interface InvitationRow extends MemberRow {
  id: string
  workspace_id: string
  workspace_name: string
  email: string
  role_id: string | null
  message: string | null
  status: InvitationStatus
  invited_by: string | null
  inviter_name: string | null
  inviter_email: string | null
  sent_at: string
  expires_at: string
  created_at: string
  updated_at: string
}

/** Invitations to workspaces that are not deleted. */
export const SELECT_INVITATION = `
  select i.id, i.workspace_id, w.name as workspace_name, i.email, i.role as built_in_role, i.role_id,
    r.name as role_name, r.scopes as role_scopes, '{}'::text[] as group_scopes, i.added_scopes, i.removed_scopes,
    i.message, i.status, i.invited_by, u.name as inviter_name, u.email as inviter_email,
    i.sent_at, i.expires_at, i.created_at, i.updated_at
  from invitations i
  join workspaces w on w.id = i.workspace_id and w.deleted_at is null
  left join roles r on r.id = i.role_id
  left join users u on u.id = i.invited_by`

const BY_ID = `${SELECT_INVITATION} where i.workspace_id = $1 and i.id = $2`

export function findInvitation(sql: Sql, workspaceId: string, id: string): Promise<InvitationRow | undefined> {
  return sql.row<InvitationRow>(BY_ID, [workspaceId, id])
}

/** An open invitation expires by itself; nothing needs to write that down. */
export function statusOf(row: InvitationRow, now: number): InvitationStatus {
  return row.status === 'open' && Date.parse(row.expires_at) <= now ? 'expired' : row.status
}

export function invitationView(row: InvitationRow, now: number): InvitationData {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    email: row.email,
    role: hasRole(row) ? roleName(row) : null,
    roleId: row.role_id ?? row.built_in_role,
    scopes: [...mergedScopes(row)].sort(),
    message: row.message,
    status: statusOf(row, now),
    inviter:
      row.invited_by === null
        ? null
        : { _id: row.invited_by, name: row.inviter_name ?? '', email: row.inviter_email ?? '' },
    sentAt: row.sent_at,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export function invitationPreview(row: InvitationRow): Static<typeof InvitationPreview> {
  return {
    workspaceName: row.workspace_name,
    inviterName: row.inviter_name || row.inviter_email,
    role: roleName(row),
    expiresAt: row.expires_at,
  }
}

export function myInvitation(row: InvitationRow): Static<typeof MyInvitation> {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    ...invitationPreview(row),
    message: row.message,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** What events and the audit log tell of an invitation. */
export function invitationFacts(row: InvitationRow) {
  const role = hasRole(row) ? roleName(row) : null
  return { invitationId: row.id, email: row.email, role, expiresAt: row.expires_at }
}

export function hasRole(row: InvitationRow): boolean {
  return row.built_in_role !== null || row.role_id !== null
}
