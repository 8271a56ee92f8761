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
  summary: 'List the members of a workspace, newest first, with who is online',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  query: MemberQuery,
  returns: { 200: ListOf(MemberView) },
  errors: [SearchTooBroad],
  example: { path: { workspaceId }, query: { q: 'ada', limit: 20 } },
  handle: async ({ path, query, members }) => list('Members', await members.list(path.workspaceId, query)),
})

export const updateMember = operation({
  route: 'PATCH /api/team/{workspaceId}/members/{userId}',
  summary: 'Give a member another role or other scopes',
  description:
    '`role` (a name) or `roleId`. `scopes` says exactly what the member may do: where that differs from role and groups it is kept as personal overrides, granted or revoked; null drops them. Overrides stay when only the role changes. Nobody grants a scope they lack or changes a member who has one; only owners make or change owners; the last owner stays one. When the owner who pays stops being one, whoever did it pays from then on. It takes effect at once, also on open sockets.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: MemberPath,
  body: MemberChange,
  etag: true,
  returns: { 200: Envelope(MemberState) },
  errors: [CannotGrant, Outranked, OwnersOnly, LastOwner, PlanLimit, PreconditionFailed, ValidationFailed],
  example: { path: { workspaceId, userId }, body: { role: 'editor' } },
  handle: async ({ turn, caller, path, body, ifMatch, members }) =>
    ok('Member changed', await members.update(turn, caller, path.userId, body, ifMatch)),
})

export const removeMember = operation({
  route: 'DELETE /api/team/{workspaceId}/members/{userId}',
  summary: 'Remove a member from a workspace',
  description:
    'It takes effect at once, also on open sockets. What they have made stays. Signed URLs of files that they have been shown work for up to two hours more. A member with scopes that you lack cannot be removed by you. Ingest keys belong to streams and go on working: a member with `streams:manage` may have noted them. `streamIds` says of which streams; POST /api/streams/{id}/arm gives one new keys and drops who publishes with the old ones.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: MemberPath,
  returns: { 200: Envelope(RemovedMember) },
  errors: [Outranked, OwnersOnly, LastOwner, PlanLimit, PreconditionFailed],
  example: { path: { workspaceId, userId } },
  handle: async ({ turn, caller, path, ifMatch, members }) => {
    const { streamIds } = await members.remove(turn, caller, path.userId, ifMatch)
    return ok('Member removed', { streamIds })
  },
})

export const leaveWorkspace = operation({
  route: 'POST /api/team/{workspaceId}/leave',
  summary: 'Leave a workspace',
  description:
    'The last owner cannot leave. When the owner who pays leaves, the owner who has been there longest pays from then on.',
  access: 'team:read',
  workspace: from.path('workspaceId'),
  turn: true,
  path: TeamPath,
  returns: { 200: Done },
  errors: [LastOwner, PlanLimit],
  example: { path: { workspaceId } },
  handle: async ({ turn, caller, members }) => {
    await members.leave(turn, caller)
    return done('You have left the workspace')
  },
})
