import { PlanLimit, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { CannotGrant, NameTaken, Outranked } from './errors.ts'
import { GroupChange, GroupView, ItemPath, NewGroup, TeamPath } from './schemas.ts'

const { workspaceId, groupId: id } = EXAMPLE

export const listGroups = operation({
  route: 'GET /api/team/{workspaceId}/groups',
  summary: 'List groups',
  description: 'Newest first.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  query: PageQuery,
  returns: { 200: ListOf(GroupView) },
  example: { path: { workspaceId }, query: { limit: 30 } },
  handle: async ({ path, query, team }) => list('Groups', await team.groups.list(path.workspaceId, pageRequest(query))),
})

export const getGroup = operation({
  route: 'GET /api/team/{workspaceId}/groups/{id}',
  summary: 'Get a group',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: ItemPath,
  etag: true,
  returns: { 200: Envelope(GroupView) },
  example: { path: { workspaceId, id } },
  handle: async ({ path, team }) => ok('Group', await team.groups.get(path.workspaceId, path.id)),
})

export const createGroup = operation({
  route: 'POST /api/team/{workspaceId}/groups',
  summary: 'Create a group',
  description:
    'A member can do what roles and groups allow together. You cannot give a group a scope that you lack. The plan limits the number of groups.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: TeamPath,
  body: NewGroup,
  etag: true,
  returns: { 201: Envelope(GroupView) },
  errors: [CannotGrant, NameTaken, Outranked, PlanLimit, ValidationFailed],
  example: { path: { workspaceId }, body: { name: 'Streaming', memberIds: [], scopes: ['streams:manage'] } },
  handle: async ({ turn, caller, body, team }) =>
    created('Group created', await team.groups.create(turn, caller, body)),
})

export const updateGroup = operation({
  route: 'PATCH /api/team/{workspaceId}/groups/{id}',
  summary: 'Update a group',
  description:
    '`memberIds` and `scopes` replace the whole lists. You must have every scope that the group has or gets, and every scope of the members whose permissions change. Takes effect at once, also on open sockets.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: ItemPath,
  body: GroupChange,
  etag: true,
  returns: { 200: Envelope(GroupView) },
  errors: [CannotGrant, NameTaken, Outranked, PreconditionFailed, ValidationFailed],
  example: { path: { workspaceId, id }, body: { name: 'Live streaming' } },
  handle: async ({ turn, caller, path, body, ifMatch, team }) =>
    ok('Group changed', await team.groups.update(turn, caller, path.id, body, ifMatch)),
})

export const deleteGroup = operation({
  route: 'DELETE /api/team/{workspaceId}/groups/{id}',
  summary: 'Delete a group',
  description: 'Its members keep what their roles allow. You must have every scope of the group.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: ItemPath,
  returns: { 200: Done },
  errors: [Outranked, PreconditionFailed],
  example: { path: { workspaceId, id } },
  handle: async ({ turn, caller, path, ifMatch, team }) => {
    await team.groups.delete(turn, caller, path.id, ifMatch)
    return done('Group deleted')
  },
})
