import { defineEntity, p } from '@mikro-orm/postgresql'
import type { Scope } from '../../../core/scope.ts'
import { User } from '../../identity/users/index.ts'
import { Role, Workspace } from '../workspaces/entities.ts'
import type { InvitationStatus } from './schemas.ts'

const time = () => p.datetime().columnType('timestamptz')
const scopes = () =>
  p
    .array<Scope>((text) => text as Scope)
    .columnType('text[]')
    .defaultRaw(`'{}'`)

/** An invitation by mail. Only a digest of its token is kept; the invited address is as `normalizeEmail` leaves it. */
const Invitation = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  uniques: [{ name: 'invitations_token_key', properties: ['tokenHash'] }],
  indexes: [
    {
      name: 'invitations_open_key',
      expression: `create unique index invitations_open_key on invitations (workspace_id, email) where status = 'open'`,
    },
    {
      name: 'invitations_by_time',
      expression: 'create index invitations_by_time on invitations (workspace_id, created_at desc, id desc)',
    },
    {
      name: 'invitations_by_email',
      expression: `create index invitations_by_email on invitations (email, created_at desc, id desc) where status = 'open'`,
    },
  ],
  checks: [{ name: 'invitations_one_role', expression: `status <> 'open' or num_nonnulls(role, role_id) = 1` }],
  properties: {
    id: p.uuid().primary(),
    workspace: p
      .manyToOne(Workspace)
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('invitations_workspace_id_fkey')
      .index(false),
    email: p.text(),
    tokenHash: p.text(),
    role: p.text().nullable(),
    customRole: p
      .manyToOne(Role)
      .joinColumn('role_id')
      .nullable()
      .deleteRule('set null')
      .updateRule('no action')
      .foreignKeyName('invitations_role_id_fkey')
      .index('invitations_by_role'),
    addedScopes: scopes(),
    removedScopes: scopes(),
    message: p.text().nullable(),
    status: p.text().$type<InvitationStatus>(),
    invitedBy: p
      .manyToOne(User)
      .joinColumn('invited_by')
      .nullable()
      .deleteRule('set null')
      .updateRule('no action')
      .foreignKeyName('invitations_invited_by_fkey')
      .index('invitations_by_inviter'),
    sentAt: time(),
    expiresAt: time(),
    createdAt: time(),
    updatedAt: time(),
  },
})

export const teamEntities = [Invitation]
