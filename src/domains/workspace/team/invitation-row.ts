import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Row } from '../../../db/row.ts'
import { findUsers } from '../../identity/users/index.ts'
import { findNames, findRoles, mergedScopes, roleName, type ScopeSources } from '../workspaces/index.ts'
import type { InvitationData, InvitationPreview, InvitationStatus, MyInvitation } from './schemas.ts'
import { invitations, type Invitation } from './tables.ts'

type InvitationColumns = Row<typeof Invitation>

/** An invitation with its workspace, its inviter and the scopes that it grants. */
export interface InvitationRow extends InvitationColumns, Omit<ScopeSources, keyof InvitationColumns> {
  readonly workspaceName: string
  /** Null when the account was deleted. */
  readonly inviter: { readonly name: string; readonly email: string } | null
}

/**
 * Adds workspaces, roles and inviters. Invitations to deleted workspaces are left out; the order stays.
 * @param known the names of the workspaces, if they have been read
 */
export async function withDetails(
  sql: Sql,
  rows: readonly InvitationColumns[],
  known?: ReadonlyMap<string, string>,
): Promise<InvitationRow[]> {
  if (rows.length === 0) return []
  const names = known ?? (await findNames(sql, [...new Set(rows.map((row) => row.workspaceId))]))
  const roleIds = new Set(rows.flatMap((row) => row.roleId ?? []))
  const roles = roleIds.size === 0 ? [] : await findRoles(sql, [...roleIds])
  const rolesById = new Map(roles.map((role) => [role.id, role]))
  const inviterIds = new Set(rows.flatMap((row) => row.invitedBy ?? []))
  const inviters = inviterIds.size === 0 ? [] : await findUsers(sql, [...inviterIds], INVITER)
  const invitersById = new Map(inviters.map((user) => [user.id, user]))
  return rows.flatMap((row) => {
    const workspaceName = names.get(row.workspaceId)
    if (workspaceName === undefined) return []
    const role = rolesById.get(row.roleId ?? '')
    return [
      {
        ...row,
        workspaceName,
        roleName: role?.name ?? null,
        roleScopes: role?.scopes ?? null,
        groupScopes: [],
        inviter: invitersById.get(row.invitedBy ?? '') ?? null,
      },
    ]
  })
}

const INVITER = { columns: ['id', 'name', 'email'] } as const

/** An invitation to a workspace that is not deleted. */
export async function findInvitation(
  sql: Sql,
  where: Partial<Pick<InvitationColumns, 'id' | 'workspaceId' | 'tokenHash' | 'email'>>,
): Promise<InvitationRow | undefined> {
  const row = await invitations.first(sql, where)
  return row && (await withDetails(sql, [row]))[0]
}

/** Open invitations expire without a change in the database. */
export function statusOf(row: InvitationColumns, now: number): InvitationStatus {
  return row.status === 'open' && Date.parse(row.expiresAt) <= now ? 'expired' : row.status
}

export function invitationView(row: InvitationRow, now: number): InvitationData {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    email: row.email,
    role: hasRole(row) ? roleName(row) : null,
    roleId: row.roleId ?? row.role,
    scopes: [...mergedScopes(row)].sort(),
    message: row.message,
    status: statusOf(row, now),
    inviter:
      row.invitedBy === null
        ? null
        : { _id: row.invitedBy, name: row.inviter?.name ?? '', email: row.inviter?.email ?? '' },
    sentAt: row.sentAt,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

export function invitationPreview(row: InvitationRow): Static<typeof InvitationPreview> {
  return {
    workspaceName: row.workspaceName,
    inviterName: row.inviter && (row.inviter.name || row.inviter.email),
    role: roleName(row),
    expiresAt: row.expiresAt,
  }
}

export function myInvitation(row: InvitationRow): Static<typeof MyInvitation> {
  return {
    _id: row.id,
    workspaceId: row.workspaceId,
    ...invitationPreview(row),
    message: row.message,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** The data of events about an invitation. */
export function invitationFacts(row: InvitationRow) {
  const role = hasRole(row) ? roleName(row) : null
  return { invitationId: row.id, email: row.email, role, expiresAt: row.expiresAt }
}

/** False for an answered or revoked invitation whose role was deleted. */
export function hasRole(row: InvitationRow): boolean {
  return row.role !== null || row.roleId !== null
}
