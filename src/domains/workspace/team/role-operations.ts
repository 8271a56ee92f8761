import { PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { ALL_SCOPES, SCOPES } from '../../../core/scope.ts'
import { BuiltInRoleFixed, CannotGrant, NameTaken, Outranked, OwnersOnly, RoleInUse } from './errors.ts'
import { builtInRoles } from './roles.ts'
import { NewRole, RoleChange, RolePath, RoleReplacement, RoleView, ScopeCatalogue, TeamPath } from './schemas.ts'

const { workspaceId, roleId: id } = EXAMPLE

export const listScopes = operation({
  route: 'GET /api/team/scopes',
  summary: 'List scopes and built-in roles',
  access: 'user',
  returns: { 200: Envelope(ScopeCatalogue) },
  example: {},
  handle: async () => {
    const scopes = ALL_SCOPES.map((scope) => ({ scope, description: SCOPES[scope] }))
    return ok('Scopes', { scopes, roles: builtInRoles() })
  },
})

export const listRoles = operation({
  route: 'GET /api/team/{workspaceId}/roles',
  summary: 'List roles',
  description: 'Built-in roles first, then custom roles, oldest first. They always fit on one page.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  returns: { 200: ListOf(RoleView) },
  example: { path: { workspaceId } },
  handle: async ({ path, team }) => list('Roles', await team.roles.list(path.workspaceId)),
})

export const createRole = operation({
  route: 'POST /api/team/{workspaceId}/roles',
  summary: 'Create a role',
  description: 'You cannot give a role a scope that you lack. The plan limits the number of roles.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: TeamPath,
  body: NewRole,
  etag: true,
  returns: { 201: Envelope(RoleView) },
  errors: [CannotGrant, NameTaken, PlanLimit],
  example: { path: { workspaceId }, body: { name: 'Moderator', scopes: ['team:read', 'chat:read', 'chat:write'] } },
  handle: async ({ turn, caller, body, team }) => created('Role created', await team.roles.create(turn, caller, body)),
})

export const updateRole = operation({
  route: 'PATCH /api/team/{workspaceId}/roles/{id}',
  summary: 'Update a role',
  description:
    'Members with the role gain or lose permissions at once, also on open sockets. You must have every scope that the role has or gets, and every scope of the members whose permissions change. Built-in roles cannot be changed.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: RolePath,
  body: RoleChange,
  etag: true,
  returns: { 200: Envelope(RoleView) },
  errors: [BuiltInRoleFixed, CannotGrant, NameTaken, Outranked, PreconditionFailed],
  example: { path: { workspaceId, id }, body: { scopes: ['team:read', 'chat:read'] } },
  handle: async ({ turn, caller, path, body, ifMatch, team }) =>
    ok('Role changed', await team.roles.update(turn, caller, path.id, body, ifMatch)),
})

export const deleteRole = operation({
  route: 'DELETE /api/team/{workspaceId}/roles/{id}',
  summary: 'Delete a role',
  description:
    '409 while members have the role or open invitations name it, unless `replaceWith` names another role. You must have every scope of both roles.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: RolePath,
  query: RoleReplacement,
  returns: { 200: Done },
  errors: [BuiltInRoleFixed, RoleInUse, CannotGrant, Outranked, OwnersOnly, PreconditionFailed, ValidationFailed],
  example: { path: { workspaceId, id }, query: { replaceWith: 'contributor' } },
  handle: async ({ turn, caller, path, query, ifMatch, team }) => {
    await team.roles.delete(turn, caller, path.id, query.replaceWith, ifMatch)
    return done('Role deleted')
  },
})
