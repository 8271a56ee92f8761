import { defineError } from '../../../core/error.ts'

export const CannotGrant = defineError({
  code: 'cannot_grant',
  status: 403,
  message: 'You cannot give away a scope that you do not hold.',
  cause: 'What you asked for would give someone, or a role or group, a scope that you lack. The message names it.',
  fix: 'Leave those scopes out, or ask a member who holds them.',
})
export const Outranked = defineError({
  code: 'outranked',
  status: 403,
  message: 'You cannot change a member, role, group or invitation that has scopes you lack.',
  cause: 'The member, role, group or invitation has more rights than you do. The message names the scopes.',
  fix: 'Ask an owner, or a member who holds these scopes.',
})
export const OwnersOnly = defineError({
  code: 'owners_only',
  status: 403,
  message: 'Only an owner of the workspace may do this.',
  cause: 'The change makes somebody an owner, or changes or removes one.',
  fix: 'Ask an owner.',
})
export const LastOwner = defineError({
  code: 'last_owner',
  status: 409,
  message: 'A workspace keeps at least one owner, and this is the last one.',
  cause: 'Demoting, removing or leaving would leave the workspace without an owner.',
  fix: 'Make another member an owner first, or delete the workspace.',
})
export const RoleInUse = defineError({
  code: 'role_in_use',
  status: 409,
  message: 'Somebody holds this role.',
  cause: 'Members hold the role or open invitations name it; `details` says how many.',
  fix: 'Name the role that takes its place in `replaceWith`, or give those people other roles first.',
})
export const BuiltInRoleFixed = defineError({
  code: 'built_in_role',
  status: 409,
  message: 'Built-in roles cannot be changed or deleted.',
  cause: 'The roles owner, admin, editor, contributor and client are the same in every workspace.',
  fix: 'Create a role of your own with the scopes that you want.',
})
export const NameTaken = defineError({
  code: 'name_taken',
  status: 409,
  message: 'The name is taken.',
  cause: 'Another role (or group) of the workspace has this name; upper and lower case make no difference.',
  fix: 'Choose another name.',
})
export const AlreadyMember = defineError({
  code: 'already_member',
  status: 409,
  message: 'This person is a member already.',
  cause: 'The address belongs to a member of the workspace.',
  fix: 'Change the member instead of inviting again.',
})
export const AlreadyInvited = defineError({
  code: 'already_invited',
  status: 409,
  message: 'This address has an open invitation already.',
  cause: 'An address has one open invitation to a workspace at most; `details.invitationId` names it.',
  fix: 'Resend the invitation, or revoke it and invite anew with another role.',
})
export const InvitationExpired = defineError({
  code: 'invitation_expired',
  status: 409,
  message: 'The invitation has expired.',
  cause: 'An invitation is good for 7 days from when it was last sent.',
  fix: 'Ask whoever invited you to send it again.',
})
export const InvitationRevoked = defineError({
  code: 'invitation_revoked',
  status: 409,
  message: 'The invitation was withdrawn.',
  cause: 'A member of the workspace has revoked it.',
  fix: 'Ask whoever invited you for a new one.',
})
export const InvitationUsed = defineError({
  code: 'invitation_used',
  status: 409,
  message: 'The invitation was answered already.',
  cause: 'It was accepted or declined. An invitation can be answered once.',
  fix: 'See GET /api/workspaces whether you are a member; otherwise ask for a new invitation.',
})
export const InvitationForAnother = defineError({
  code: 'invitation_for_another',
  status: 403,
  message: 'This invitation was sent to another address.',
  cause: 'Only the account with the invited e-mail address can answer an invitation.',
  fix: 'Sign in with the address to which the invitation was mailed.',
})
export const InviterMayNotGrant = defineError({
  code: 'inviter_may_not_grant',
  status: 409,
  message: 'Whoever invited you can no longer give you what the invitation promises.',
  cause: 'The inviter has left the workspace, or has lost the right to invite or a scope that the invitation grants.',
  fix: 'Ask another member who manages the team to send the invitation again.',
})
