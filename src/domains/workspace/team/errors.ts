import { defineError } from '../../../core/error.ts'

export const CannotGrant = defineError({
  code: 'cannot_grant',
  status: 403,
  message: 'You cannot grant a scope that you lack.',
  cause: 'The request would give a member, role or group a scope that you lack. The message names it.',
  fix: 'Omit these scopes, or ask a member who has them.',
})
export const Outranked = defineError({
  code: 'outranked',
  status: 403,
  message: 'You cannot change a member, role, group or invitation that has scopes you lack.',
  cause: 'The member, role, group or invitation has scopes that you lack. The message names them.',
  fix: 'Ask an owner, or a member who has these scopes.',
})
export const OwnersOnly = defineError({
  code: 'owners_only',
  status: 403,
  message: 'Only an owner of the workspace can do this.',
  cause: 'The request adds, changes or removes an owner.',
  fix: 'Ask an owner.',
})
export const LastOwner = defineError({
  code: 'last_owner',
  status: 409,
  message: 'A workspace must have at least one owner, and this is the last one.',
  cause: 'The change would leave the workspace without an owner.',
  fix: 'Make another member an owner first, or delete the workspace.',
})
export const RoleInUse = defineError({
  code: 'role_in_use',
  status: 409,
  message: 'The role is in use.',
  cause: 'Members have the role or open invitations name it. `details` has the numbers.',
  fix: 'Set `replaceWith` to another role, or change the roles of these members and invitations first.',
})
export const BuiltInRoleFixed = defineError({
  code: 'built_in_role',
  status: 409,
  message: 'Built-in roles cannot be changed or deleted.',
  cause: 'The roles owner, admin, editor, contributor and client are the same in every workspace.',
  fix: 'Create a custom role with the scopes that you want.',
})
export const NameTaken = defineError({
  code: 'name_taken',
  status: 409,
  message: 'The name is taken.',
  cause: 'Another role or group of the workspace has this name. Names are not case-sensitive.',
  fix: 'Choose another name.',
})
export const AlreadyMember = defineError({
  code: 'already_member',
  status: 409,
  message: 'This user is already a member.',
  cause: 'The email address belongs to a member of the workspace.',
  fix: 'Update the member instead.',
})
export const AlreadyInvited = defineError({
  code: 'already_invited',
  status: 409,
  message: 'This email address already has an open invitation.',
  cause: 'An email address can have one open invitation to a workspace. `details.invitationId` is its id.',
  fix: 'Resend the invitation, or revoke it and create a new one.',
})
export const InvitationExpired = defineError({
  code: 'invitation_expired',
  status: 409,
  message: 'The invitation has expired.',
  cause: 'An invitation is valid for 7 days after it was last sent.',
  fix: 'Ask the person who invited you to send it again.',
})
export const InvitationRevoked = defineError({
  code: 'invitation_revoked',
  status: 409,
  message: 'The invitation was revoked.',
  cause: 'A member of the workspace revoked it.',
  fix: 'Ask the person who invited you for a new invitation.',
})
export const InvitationUsed = defineError({
  code: 'invitation_used',
  status: 409,
  message: 'The invitation has already been answered.',
  cause: 'The invitation was accepted or declined before. It can be answered only once.',
  fix: 'Check GET /api/workspaces to see whether you are a member. If not, ask for a new invitation.',
})
export const InvitationForAnother = defineError({
  code: 'invitation_for_another',
  status: 403,
  message: 'This invitation was sent to another email address.',
  cause: 'Only the account with the invited email address can answer an invitation.',
  fix: 'Log in with the email address that was invited.',
})
export const InviterMayNotGrant = defineError({
  code: 'inviter_may_not_grant',
  status: 409,
  message: 'The inviter can no longer grant what the invitation offers.',
  cause: 'The inviter has left the workspace, can no longer invite, or has lost a scope that the invitation grants.',
  fix: 'Ask another member who can manage the team to resend the invitation.',
})
