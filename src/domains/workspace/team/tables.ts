import { defineEntity, p } from '@mikro-orm/postgresql'
import type { BuiltInRole } from '../../../core/scope.ts'
import { references, scopeList, timestamp } from '../../../db/columns.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import { Role, Workspace } from '../workspaces/index.ts'
import type { InvitationStatus } from './schemas.ts'

/** An invitation by email. Only a hash of its token is stored. The address is normalized by `normalizeEmail`. */
export const Invitation = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  uniques: [{ name: 'invitations_token_key', properties: ['tokenHash'] }],
  indexes: [
    { name: 'invitations_by_inviter', properties: ['invitedBy', 'id'] },
    {
      name: 'invitations_open_key',
      expression: `create unique index invitations_open_key on invitations (workspace_id, email) where status = 'open'`,
    },
    { name: 'invitations_by_workspace', properties: ['workspaceId', 'id'] },
    {
      name: 'invitations_by_email',
      expression: `create index invitations_by_email on invitations (email, id) where status = 'open'`,
    },
  ],
  checks: [{ name: 'invitations_one_role', expression: `status <> 'open' or num_nonnulls(role, role_id) = 1` }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'invitations_workspace_id_fkey', onDelete: 'cascade' }),
    email: p.text(),
    tokenHash: p.text(),
    role: p.text().$type<BuiltInRole>().nullable(),
    roleId: references(Role, { name: 'invitations_role_id_fkey', onDelete: 'set null' })
      .nullable()
      .index('invitations_by_role'),
    addedScopes: scopeList(),
    removedScopes: scopeList(),
    message: p.text().nullable(),
    status: p.text().$type<InvitationStatus>(),
    invitedBy: references(User, { name: 'invitations_invited_by_fkey', onDelete: 'set null' })
      .joinColumn('invited_by')
      .nullable(),
    sentAt: timestamp(),
    expiresAt: timestamp(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const invitations = table(Invitation)

export const teamEntities = [Invitation]
