import { defineEntity, p } from '@mikro-orm/postgresql'
import type { Scope } from '../../../core/scope.ts'
import { User } from '../../identity/users/index.ts'
import type { AiSettingsData } from './schemas.ts'

const time = () => p.datetime().columnType('timestamptz')
const scopes = () =>
  p
    .array<Scope>((text) => text as Scope)
    .columnType('text[]')
    .defaultRaw(`'{}'`)

const WorkspaceSchema = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  properties: {
    id: p.uuid().primary(),
    /** Who pays for it; also a member with the role owner. */
    owner: p
      .manyToOne(User)
      .deleteRule('no action')
      .updateRule('no action')
      .foreignKeyName('workspaces_owner_id_fkey')
      .index('workspaces_by_owner'),
    name: p.text(),
    timezone: p.text(),
    logo: p.text().nullable(),
    /** Only what was set; the rest is filled in from the defaults. */
    aiSettings: p.json<Partial<AiSettingsData>>().defaultRaw(`'{}'`),
    version: p.integer().default(1),
    createdAt: time(),
    updatedAt: time(),
    deletedAt: time().nullable(),
    purgeAt: time().nullable().index('workspaces_by_purge'),
  },
})

/** A tenant: what its members see and do is theirs alone. */
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace)

const inWorkspace = (name: string) =>
  p.manyToOne(Workspace).deleteRule('cascade').updateRule('no action').foreignKeyName(name)

/** A role that a workspace made for itself. */
export const Role = defineEntity({
  name: 'Role',
  tableName: 'roles',
  uniques: [{ name: 'roles_name_key', properties: ['workspace', 'name'] }],
  properties: {
    id: p.uuid().primary(),
    workspace: inWorkspace('roles_workspace_id_fkey'),
    name: p.text(),
    scopes: scopes(),
    version: p.integer().default(1),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** A user in a workspace: with a built-in role by name, or one of the workspace's own. */
export const WorkspaceMember = defineEntity({
  name: 'WorkspaceMember',
  tableName: 'workspace_members',
  checks: [{ name: 'workspace_members_one_role', expression: 'num_nonnulls(role, role_id) = 1' }],
  properties: {
    workspace: inWorkspace('workspace_members_workspace_id_fkey').primary(),
    user: p
      .manyToOne(User)
      .primary()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('workspace_members_user_id_fkey')
      .index('workspace_members_by_user'),
    role: p.text().nullable(),
    customRole: p
      .manyToOne(Role)
      .joinColumn('role_id')
      .nullable()
      .deleteRule('no action')
      .updateRule('no action')
      .foreignKeyName('workspace_members_role_id_fkey')
      .index('workspace_members_by_role'),
    addedScopes: scopes(),
    removedScopes: scopes(),
    version: p.integer().default(1),
    joinedAt: time(),
    updatedAt: time(),
  },
})

/** Members who share further scopes. */
const Group = defineEntity({
  name: 'Group',
  tableName: 'groups',
  uniques: [{ name: 'groups_name_key', properties: ['workspace', 'name'] }],
  properties: {
    id: p.uuid().primary(),
    workspace: inWorkspace('groups_workspace_id_fkey'),
    name: p.text(),
    scopes: scopes(),
    version: p.integer().default(1),
    createdAt: time(),
    updatedAt: time(),
  },
})

/** Ends with the membership in the workspace. */
const GroupMember = defineEntity({
  name: 'GroupMember',
  tableName: 'group_members',
  indexes: [{ name: 'group_members_by_member', properties: ['member'] }],
  properties: {
    group: p
      .manyToOne(Group)
      .primary()
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('group_members_group_id_fkey'),
    member: p
      .manyToOne(WorkspaceMember)
      .primary()
      .joinColumns('workspace_id', 'user_id')
      .deleteRule('cascade')
      .updateRule('no action')
      .foreignKeyName('group_members_member_fkey')
      .index(false),
  },
})

export const workspaceEntities = [WorkspaceSchema, Role, WorkspaceMember, Group, GroupMember]
