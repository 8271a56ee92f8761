import { event } from '../core/event.ts'
import { Id, Nullable, Timestamp, Type } from '../core/schema.ts'
import { GroupView, MemberState, RoleView } from './schemas.ts'

export const memberAdded = event({
  name: 'member.added',
  summary: 'Somebody has joined the workspace',
  scope: 'team:read',
  data: MemberState,
})

export const memberUpdated = event({
  name: 'member.updated',
  summary: 'A member has another role or other overrides',
  scope: 'team:read',
  data: MemberState,
})

export const memberRemoved = event({
  name: 'member.removed',
  summary: 'Somebody has left the workspace or was removed; they are in none of its groups any more',
  scope: 'team:read',
  data: Type.Object({ userId: Id, left: Type.Boolean({ description: 'Of their own accord' }) }),
})

/** No event of an invitation carries its token. */
const invitation = Type.Object({
  invitationId: Id,
  email: Type.String(),
  role: Nullable(Type.String()),
  expiresAt: Timestamp,
})

export const invitationCreated = event({
  name: 'invitation.created',
  summary: 'Somebody was invited',
  scope: 'team:manage',
  data: invitation,
})

export const invitationResent = event({
  name: 'invitation.resent',
  summary: 'An invitation was sent again and is good for seven more days',
  scope: 'team:manage',
  data: invitation,
})

export const invitationRevoked = event({
  name: 'invitation.revoked',
  summary: 'An invitation was withdrawn',
  scope: 'team:manage',
  data: invitation,
})

export const invitationAccepted = event({
  name: 'invitation.accepted',
  summary: 'An invitation was accepted',
  scope: 'team:manage',
  data: invitation,
})

export const invitationDeclined = event({
  name: 'invitation.declined',
  summary: 'An invitation was declined',
  scope: 'team:manage',
  data: invitation,
})

export const roleCreated = event({
  name: 'role.created',
  summary: 'The workspace has a new role',
  scope: 'team:read',
  data: RoleView,
})

export const roleUpdated = event({
  name: 'role.updated',
  summary: 'A role was changed, and with it what its members may do',
  scope: 'team:read',
  data: RoleView,
})

export const roleDeleted = event({
  name: 'role.deleted',
  summary: 'A role was deleted',
  scope: 'team:read',
  data: Type.Object({
    roleId: Id,
    replacedBy: Nullable(Type.String({ description: '`_id` of the role that its members have now' })),
  }),
})

export const groupCreated = event({
  name: 'group.created',
  summary: 'The workspace has a new group',
  scope: 'team:read',
  data: GroupView,
})

export const groupUpdated = event({
  name: 'group.updated',
  summary: 'A group was changed, and with it what its members may do',
  scope: 'team:read',
  data: GroupView,
})

export const groupDeleted = event({
  name: 'group.deleted',
  summary: 'A group was deleted',
  scope: 'team:read',
  data: Type.Object({ groupId: Id }),
})
