import { Conflict, PlanLimit, ValidationFailed } from '../../../core/errors.ts'
import { EXAMPLE } from '../../../core/example-ids.ts'
import { from, operation, type WorkspaceSource } from '../../../core/operation.ts'
import { PageQuery, pageRequest } from '../../../core/page.ts'
import { created, done, list, ok } from '../../../core/reply.ts'
import { Done, Envelope, ListOf } from '../../../core/schema.ts'
import { TooManyMails } from '../../../mail/limits.ts'
import {
  AlreadyInvited,
  AlreadyMember,
  CannotGrant,
  InvitationExpired,
  InvitationForAnother,
  InvitationRevoked,
  InvitationUsed,
  InviterMayNotGrant,
  Outranked,
  OwnersOnly,
} from './errors.ts'
import {
  InvitationPreview,
  InvitationQuery,
  InvitationView,
  ItemPath,
  MemberState,
  MyInvitation,
  NewInvitation,
  TeamPath,
  TokenPath,
} from './schemas.ts'

const { workspaceId, invitationId: id } = EXAMPLE
const token = 'nE3cWv0mUq8yq7Wm4pB1v2b0cZkq9xTt5fJ6hY8sL2A'

/** The workspace of an invitation, found by the token or id of the invitation. */
const invitation: WorkspaceSource = { in: 'lookup', name: 'invitation', field: 'token' }

export const listMyInvitations = operation({
  route: 'GET /api/team/invitations/mine',
  summary: 'List your invitations',
  description: 'Open invitations to your email address. Their `_id` can be used instead of the token.',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(MyInvitation) },
  example: { query: { limit: 30 } },
  handle: async ({ caller, query, team }) =>
    list('Your invitations', await team.answers.mine(caller, pageRequest(query))),
})

export const getInvitation = operation({
  route: 'GET /api/team/invitations/{token}',
  summary: 'Get an invitation',
  description: 'Anyone with the link can call it, also without logging in.',
  access: 'public',
  path: TokenPath,
  returns: { 200: Envelope(InvitationPreview) },
  errors: [InvitationExpired, InvitationRevoked, InvitationUsed],
  example: { path: { token } },
  handle: async ({ path, team }) => ok('Invitation', await team.answers.preview(path.token)),
})

export const acceptInvitation = operation({
  route: 'POST /api/team/invitations/{token}/accept',
  summary: 'Accept an invitation',
  description:
    'Only for the account whose confirmed email address was invited. `token` is the token from the link, or the `_id` from the list of your invitations. Refused if the inviter can no longer grant the role or scopes.',
  access: 'user',
  workspace: invitation,
  turn: true,
  path: TokenPath,
  returns: { 200: Envelope(MemberState) },
  errors: [
    InvitationForAnother,
    InvitationExpired,
    InvitationRevoked,
    InvitationUsed,
    InviterMayNotGrant,
    AlreadyMember,
    PlanLimit,
  ],
  example: { path: { token } },
  handle: async ({ turn, caller, path, team }) =>
    ok('Invitation accepted', await team.answers.accept(turn, caller, path.token)),
})

export const declineInvitation = operation({
  route: 'POST /api/team/invitations/{token}/decline',
  summary: 'Decline an invitation',
  description:
    'Only for the account whose confirmed email address was invited. `token` is the token from the link, or the `_id` from the list of your invitations.',
  access: 'user',
  workspace: invitation,
  turn: true,
  path: TokenPath,
  returns: { 200: Done },
  errors: [InvitationForAnother, InvitationExpired, InvitationRevoked, InvitationUsed],
  example: { path: { token } },
  handle: async ({ turn, caller, path, team }) => {
    await team.answers.decline(turn, caller, path.token)
    return done('Invitation declined')
  },
})

export const inviteMember = operation({
  route: 'POST /api/team/{workspaceId}/invitations',
  summary: 'Invite a member by email',
  description:
    'Send a `role` (a name) or `roleId`, and `scopes` if they should differ from the role. The link in the mail works once within 7 days, and only for an account with that address. An address has at most one open invitation: a second one gets 409 with the id of the first, which you can resend or revoke. Open invitations use seats of the plan. You cannot grant a scope that you lack, and only owners invite owners.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  limit: 'mail',
  path: TeamPath,
  body: NewInvitation,
  returns: { 201: Envelope(InvitationView) },
  errors: [AlreadyMember, AlreadyInvited, CannotGrant, OwnersOnly, PlanLimit, TooManyMails, ValidationFailed],
  example: {
    path: { workspaceId },
    body: { email: 'grace@example.com', role: 'editor', message: 'Come and write with us' },
  },
  handle: async ({ turn, caller, body, team }) =>
    created('Invitation sent', await team.invitations.invite(turn, caller, body)),
})

export const listInvitations = operation({
  route: 'GET /api/team/{workspaceId}/invitations',
  summary: 'List invitations',
  description: 'Newest first. Without `status`, open and expired invitations.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  query: InvitationQuery,
  returns: { 200: ListOf(InvitationView) },
  example: { path: { workspaceId }, query: { status: ['open'] } },
  handle: async ({ path, query, team }) => list('Invitations', await team.invitations.list(path.workspaceId, query)),
})

export const revokeInvitation = operation({
  route: 'DELETE /api/team/{workspaceId}/invitations/{id}',
  summary: 'Revoke an invitation',
  description: 'An invitation with scopes that you lack can be revoked by its inviter and by members who have them.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: ItemPath,
  returns: { 200: Done },
  errors: [Conflict, Outranked, OwnersOnly],
  example: { path: { workspaceId, id } },
  handle: async ({ turn, caller, path, team }) => {
    await team.invitations.revoke(turn, caller, path.id)
    return done('Invitation revoked')
  },
})

export const resendInvitation = operation({
  route: 'POST /api/team/{workspaceId}/invitations/{id}/resend',
  summary: 'Resend an invitation',
  description:
    'Sends a new link, valid for 7 days. The earlier link stops working. An expired invitation becomes valid again if a seat is free. You become its inviter, so you must have the scopes that it grants.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  limit: 'mail',
  path: ItemPath,
  returns: { 200: Envelope(InvitationView) },
  errors: [Conflict, AlreadyMember, AlreadyInvited, CannotGrant, OwnersOnly, PlanLimit, TooManyMails],
  example: { path: { workspaceId, id } },
  handle: async ({ turn, caller, path, team }) =>
    ok('Invitation resent', await team.invitations.resend(turn, caller, path.id)),
})
