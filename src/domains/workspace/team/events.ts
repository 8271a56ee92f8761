import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Nullable, States, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { GroupView, KnownStreams, MemberState, RoleView } from './schemas.ts'

const { groupId, invitationId, roleId, userId, workspaceId } = EXAMPLE
const times = { createdAt: EXAMPLE_TIME, updatedAt: EXAMPLE_TIME }

const member: Static<typeof MemberState> = {
  ...times,
  _id: userId,
  workspaceId,
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  pictureUrl: null,
  role: 'Moderator',
  roleId,
  scopes: ['team:read', 'chat:read', 'chat:write'],
  overrides: { granted: [], revoked: [] },
  groups: [{ _id: groupId, name: 'Night shift' }],
  version: 1,
}

const role: Static<typeof RoleView> = {
  ...times,
  _id: roleId,
  name: 'Moderator',
  builtIn: false,
  scopes: ['team:read', 'chat:read', 'chat:write'],
  memberCount: 1,
  version: 1,
}

const group: Static<typeof GroupView> = {
  ...times,
  _id: groupId,
  workspaceId,
  name: 'Night shift',
  scopes: ['streams:read'],
  memberIds: [userId],
  version: 1,
}

export const memberAdded = event({
  name: 'member.added',
  summary: 'Somebody has joined the workspace',
  scope: 'team:read',
  data: MemberState,
  example: member,
})

export const memberUpdated = event({
  name: 'member.updated',
  summary: 'A member has another role or other overrides',
  scope: 'team:read',
  data: MemberState,
  example: member,
})

export const memberRemoved = event({
  name: 'member.removed',
  summary: 'Somebody has left the workspace or was removed; they are in none of its groups any more',
  scope: 'team:read',
  data: Type.Object({
    userId: Id,
    reason: States('MemberRemovalReason', 'Why somebody is no longer a member', {
      left: 'They left by themselves',
      removed: 'Somebody removed them',
    }),
    streamIds: KnownStreams,
  }),
  example: { userId, reason: 'left', streamIds: [] },
})

/** No event of an invitation carries its token. */
const invitation = Type.Object({
  invitationId: Id,
  email: Type.String({ description: 'The address that was invited' }),
  role: Nullable(Type.String({ description: 'Name of the role; null when it was deleted meanwhile' })),
  expiresAt: Type.String({ ...Timestamp, description: 'Until when it can be accepted' }),
})

const invitationExample: Static<typeof invitation> = {
  invitationId,
  email: 'grace@example.com',
  role: 'editor',
  expiresAt: '2026-11-28T18:30:00.000Z',
}

export const invitationCreated = event({
  name: 'invitation.created',
  summary: 'Somebody was invited',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationResent = event({
  name: 'invitation.resent',
  summary: 'An invitation was sent again and is good for seven more days',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationRevoked = event({
  name: 'invitation.revoked',
  summary: 'An invitation was withdrawn',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationAccepted = event({
  name: 'invitation.accepted',
  summary: 'An invitation was accepted',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationDeclined = event({
  name: 'invitation.declined',
  summary: 'An invitation was declined',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const roleCreated = event({
  name: 'role.created',
  summary: 'The workspace has a new role',
  scope: 'team:read',
  data: RoleView,
  example: role,
})

export const roleUpdated = event({
  name: 'role.updated',
  summary: 'A role was changed, and with it what its members may do',
  scope: 'team:read',
  data: RoleView,
  example: role,
})

export const roleDeleted = event({
  name: 'role.deleted',
  summary: 'A role was deleted',
  scope: 'team:read',
  data: Type.Object({
    roleId: Id,
    replacementRoleId: Nullable(Type.String({ description: 'The role that its members have now' })),
  }),
  example: { roleId, replacementRoleId: 'editor' },
})

export const groupCreated = event({
  name: 'group.created',
  summary: 'The workspace has a new group',
  scope: 'team:read',
  data: GroupView,
  example: group,
})

export const groupUpdated = event({
  name: 'group.updated',
  summary: 'A group was changed, and with it what its members may do',
  scope: 'team:read',
  data: GroupView,
  example: group,
})

export const groupDeleted = event({
  name: 'group.deleted',
  summary: 'A group was deleted',
  scope: 'team:read',
  data: Type.Object({ groupId: Id }),
  example: { groupId },
})
