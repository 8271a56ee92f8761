import { defineEntity, p } from '@mikro-orm/postgresql'
import type { BuiltInRole } from '../../../core/scope.ts'
import { references, referencesByColumns, scopeList, timestamp } from '../../../db/columns.ts'
import type { DatabaseOf } from '../../../db/query.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import type { AiSettingsData } from './schemas.ts'

/** A tenant. Only its members see its data. */
export const Workspace = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  indexes: [{ name: 'workspaces_by_owner', properties: ['ownerId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    /** The user whose plan the workspace counts against. Also a member with the role owner. */
    ownerId: references(User, { name: 'workspaces_owner_id_fkey', onDelete: 'no action' }),
    name: p.text(),
    timezone: p.text(),
    logo: p.text().nullable(),
    /** Only the settings that were set; defaults are added when they are read. */
    aiSettings: p.json<Partial<AiSettingsData>>().defaultRaw(`'{}'`),
    /** From this time on, members without a second factor cannot use the workspace. */
    secondFactorRequiredAt: timestamp().nullable(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
    deletedAt: timestamp().nullable(),
    purgeAt: timestamp().nullable().index('workspaces_by_purge'),
  },
})

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })

/** A custom role of a workspace. */
export const Role = defineEntity({
  name: 'Role',
  tableName: 'roles',
  uniques: [{ name: 'roles_name_key', properties: ['workspaceId', 'name'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('roles_workspace_id_fkey'),
    name: p.text(),
    scopes: scopeList(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A user in a workspace, with either a built-in role (`role`) or a custom one (`roleId`). */
export const WorkspaceMember = defineEntity({
  name: 'WorkspaceMember',
  tableName: 'workspace_members',
  indexes: [{ name: 'workspace_members_by_user', properties: ['userId', 'workspaceId'] }],
  checks: [{ name: 'workspace_members_one_role', expression: 'num_nonnulls(role, role_id) = 1' }],
  properties: {
    workspaceId: inWorkspace('workspace_members_workspace_id_fkey').primary(),
    userId: references(User, { name: 'workspace_members_user_id_fkey', onDelete: 'cascade' }).primary(),
    role: p.text().$type<BuiltInRole>().nullable(),
    roleId: references(Role, { name: 'workspace_members_role_id_fkey', onDelete: 'no action' })
      .nullable()
      .index('workspace_members_by_role'),
    addedScopes: scopeList(),
    removedScopes: scopeList(),
    version: p.integer().default(1),
    joinedAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** Members who share additional scopes. */
export const Group = defineEntity({
  name: 'Group',
  tableName: 'groups',
  uniques: [{ name: 'groups_name_key', properties: ['workspaceId', 'name'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('groups_workspace_id_fkey'),
    name: p.text(),
    scopes: scopeList(),
    version: p.integer().default(1),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** A member of a group. Ends with the membership in the workspace. */
const GroupMember = defineEntity({
  name: 'GroupMember',
  tableName: 'group_members',
  indexes: [
    { name: 'group_members_by_person', properties: ['userId', 'groupId'] },
    { name: 'group_members_by_member', properties: ['workspaceId', 'userId'] },
  ],
  properties: {
    groupId: references(Group, { name: 'group_members_group_id_fkey', onDelete: 'cascade' }).primary(),
    workspaceId: p.uuid().primary(),
    userId: p.uuid().primary(),
    member: referencesByColumns(WorkspaceMember, ['workspace_id', 'user_id'], {
      name: 'group_members_member_fkey',
      onDelete: 'cascade',
    }),
  },
})

export const workspaces = table(Workspace)
export const roles = table(Role)
export const workspaceMembers = table(WorkspaceMember)
export const groups = table(Group)
export const groupMembers = table(GroupMember)

/** The tables that queries of the domain join. */
export const workspaceTables = { workspaces, roles, workspaceMembers, groups, groupMembers }
export type WorkspaceDatabase = DatabaseOf<typeof workspaceTables>

export const workspaceEntities = [Workspace, Role, WorkspaceMember, Group, GroupMember]
