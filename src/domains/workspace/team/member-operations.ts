import { PlanLimit, PreconditionFailed, SearchTooBroad, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation } from '../../../core/operation.ts'
import { done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { CannotGrant, LastOwner, Outranked, OwnersOnly } from './errors.ts'
import { MemberChange, MemberPath, MemberQuery, MemberState, MemberView, RemovedMember, TeamPath } from './schemas.ts'

const { workspaceId, userId } = EXAMPLE

export const listMembers = operation({
  route: 'GET /api/team/{workspaceId}/members',
  summary: 'List members',
  description: 'Newest first, with their `presence`.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  query: MemberQuery,
  returns: { 200: ListOf(MemberView) },
  errors: [SearchTooBroad],
  example: { path: { workspaceId }, query: { q: 'ada', limit: 20 } },
  handle: async ({ path, query, team }) => list('Members', await team.members.list(path.workspaceId, query)),
})

export const updateMember = operation({
  route: 'PATCH /api/team/{workspaceId}/members/{userId}',
  summary: 'Update the role or scopes of a member',
  description:
    'Send `role` (a name) or `roleId`. `scopes` is exactly what the member may do: differences from role and groups are stored as overrides, and null removes them. Overrides stay when only the role changes. You cannot grant a scope that you lack, or change a member who has one. Only owners make or change owners, and the last owner stays one. If the owner who pays stops being an owner, the member who made the change pays. Takes effect at once, also on open sockets.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: MemberPath,
  body: MemberChange,
  etag: true,
  returns: { 200: Envelope(MemberState) },
  errors: [CannotGrant, Outranked, OwnersOnly, LastOwner, PlanLimit, PreconditionFailed, ValidationFailed],
  example: { path: { workspaceId, userId }, body: { role: 'editor' } },
  handle: async ({ turn, caller, path, body, ifMatch, team }) =>
    ok('Member changed', await team.members.update(turn, caller, path.userId, body, ifMatch)),
})

export const removeMember = operation({
  route: 'DELETE /api/team/{workspaceId}/members/{userId}',
  summary: 'Remove a member',
  description:
    'Takes effect at once, also on open sockets. What the member made stays. Signed URLs that the member was shown work for up to two more hours. You cannot remove a member with scopes that you lack. Ingest keys belong to streams and stay valid, and a member with `streams:manage` may have copied them: `streamIds` names those streams. POST /api/streams/{id}/arm gives a stream new keys and disconnects publishers that use the old ones.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: MemberPath,
  returns: { 200: Envelope(RemovedMember) },
  errors: [Outranked, OwnersOnly, LastOwner, PlanLimit, PreconditionFailed],
  example: { path: { workspaceId, userId } },
  handle: async ({ turn, caller, path, ifMatch, team }) => {
    const { streamIds } = await team.members.remove(turn, caller, path.userId, ifMatch)
    return ok('Member removed', { streamIds })
  },
})

export const leaveWorkspace = operation({
  route: 'POST /api/team/{workspaceId}/leave',
  summary: 'Leave a workspace',
  description:
    'The last owner cannot leave. If the owner who pays leaves, the longest-standing owner pays from then on.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  turn: true,
  path: TeamPath,
  returns: { 200: Done },
  errors: [LastOwner, PlanLimit],
  example: { path: { workspaceId } },
  handle: async ({ turn, caller, team }) => {
    await team.members.leave(turn, caller)
    return done('You have left the workspace')
  },
})
