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

/** The workspace that an invitation, named by its token or id, leads to. */
const invitation: WorkspaceSource = { in: 'lookup', name: 'invitation', field: 'token' }

export const listMyInvitations = operation({
  route: 'GET /api/team/invitations/mine',
  summary: 'List the open invitations to your address',
  description: 'The `_id` of each accepts and declines in place of the token.',
  access: 'user',
  query: PageQuery,
  returns: { 200: ListOf(MyInvitation) },
  example: { query: { limit: 30 } },
  handle: async ({ caller, query, invitationAnswers }) =>
    list('Your invitations', await invitationAnswers.mine(caller, pageRequest(query))),
})

export const getInvitation = operation({
  route: 'GET /api/team/invitations/{token}',
  summary: 'Say what an invitation is for',
  description: 'For whoever has the link, signed in or not.',
  access: 'public',
  path: TokenPath,
  returns: { 200: Envelope(InvitationPreview) },
  errors: [InvitationExpired, InvitationRevoked, InvitationUsed],
  example: { path: { token } },
  handle: async ({ path, invitationAnswers }) => ok('Invitation', await invitationAnswers.preview(path.token)),
})

export const acceptInvitation = operation({
  route: 'POST /api/team/invitations/{token}/accept',
  summary: 'Accept an invitation',
  description:
    'Only for the account whose confirmed address was invited. `token` is that of the link, or the `_id` from your own list. Refused when the inviter may no longer grant what was promised.',
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
  handle: async ({ turn, caller, path, invitationAnswers }) =>
    ok('Invitation accepted', await invitationAnswers.accept(turn, caller, path.token)),
})

export const declineInvitation = operation({
  route: 'POST /api/team/invitations/{token}/decline',
  summary: 'Decline an invitation',
  description: 'Only for the account whose confirmed address was invited. `token` as for accepting.',
  access: 'user',
  workspace: invitation,
  turn: true,
  path: TokenPath,
  returns: { 200: Done },
  errors: [InvitationForAnother, InvitationExpired, InvitationRevoked, InvitationUsed],
  example: { path: { token } },
  handle: async ({ turn, caller, path, invitationAnswers }) => {
    await invitationAnswers.decline(turn, caller, path.token)
    return done('Invitation declined')
  },
})

export const inviteMember = operation({
  route: 'POST /api/team/{workspaceId}/invitations',
  summary: 'Invite somebody by mail',
  description:
    'With a `role` (a name) or `roleId`, and `scopes` if they should differ from it. The link in the mail is good for 7 days, once, and only for an account with that address. An address has one open invitation at most: a second is a 409 that names the first, which can be resent or revoked. Open invitations take seats of the plan. Nobody promises a scope they lack; only owners invite owners.',
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
  handle: async ({ turn, caller, body, invitations }) =>
    created('Invitation sent', await invitations.invite(turn, caller, body)),
})

export const listInvitations = operation({
  route: 'GET /api/team/{workspaceId}/invitations',
  summary: 'List the invitations of a workspace, newest first',
  description: 'Open and expired ones, or those of one `status`.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  path: TeamPath,
  query: InvitationQuery,
  returns: { 200: ListOf(InvitationView) },
  example: { path: { workspaceId }, query: { status: 'open' } },
  handle: async ({ path, query, invitations }) => list('Invitations', await invitations.list(path.workspaceId, query)),
})

export const revokeInvitation = operation({
  route: 'DELETE /api/team/{workspaceId}/invitations/{id}',
  summary: 'Revoke an invitation',
  description: 'An invitation that grants scopes you lack can be revoked by its inviter and by members who hold them.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: ItemPath,
  returns: { 200: Done },
  errors: [Conflict, Outranked, OwnersOnly],
  example: { path: { workspaceId, id } },
  handle: async ({ turn, caller, path, invitations }) => {
    await invitations.revoke(turn, caller, path.id)
    return done('Invitation revoked')
  },
})

export const resendInvitation = operation({
  route: 'POST /api/team/{workspaceId}/invitations/{id}/resend',
  summary: 'Send an invitation again',
  description:
    'With a new link, good for 7 days from now; the link before stops working. An expired invitation comes back to life if there is a seat. You become its inviter, so you must hold what it promises.',
  access: 'team:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  limit: 'mail',
  path: ItemPath,
  returns: { 200: Envelope(InvitationView) },
  errors: [Conflict, AlreadyMember, AlreadyInvited, CannotGrant, OwnersOnly, PlanLimit, TooManyMails],
  example: { path: { workspaceId, id } },
  handle: async ({ turn, caller, path, invitations }) =>
    ok('Invitation sent again', await invitations.resend(turn, caller, path.id)),
})
