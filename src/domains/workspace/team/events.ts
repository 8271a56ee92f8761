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
  summary: 'A user has joined the workspace',
  scope: 'team:read',
  data: MemberState,
  example: member,
})

export const memberUpdated = event({
  name: 'member.updated',
  summary: 'The role or overrides of a member have changed',
  scope: 'team:read',
  data: MemberState,
  example: member,
})

export const memberRemoved = event({
  name: 'member.removed',
  summary: 'A member has left or was removed, and is no longer in any group of the workspace',
  scope: 'team:read',
  data: Type.Object({
    userId: Id,
    reason: States('MemberRemovalReason', 'Why a user is no longer a member', {
      left: 'The member left',
      removed: 'Another member removed them',
    }),
    streamIds: KnownStreams,
  }),
  example: { userId, reason: 'left', streamIds: [] },
})

/** Events never contain the token of an invitation. */
const invitation = Type.Object({
  invitationId: Id,
  email: Type.String({ description: 'The invited email address' }),
  role: Nullable(Type.String({ description: 'Name of the role. Null if it has been deleted' })),
  expiresAt: Type.String({ ...Timestamp, description: 'When the invitation expires' }),
})

const invitationExample: Static<typeof invitation> = {
  invitationId,
  email: 'grace@example.com',
  role: 'editor',
  expiresAt: '2026-11-28T18:30:00.000Z',
}

export const invitationCreated = event({
  name: 'invitation.created',
  summary: 'A user was invited',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationResent = event({
  name: 'invitation.resent',
  summary: 'An invitation was sent again and is valid for another seven days',
  scope: 'team:manage',
  data: invitation,
  example: invitationExample,
})

export const invitationRevoked = event({
  name: 'invitation.revoked',
  summary: 'An invitation was revoked',
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
  summary: 'A role was created',
  scope: 'team:read',
  data: RoleView,
  example: role,
})

export const roleUpdated = event({
  name: 'role.updated',
  summary: 'The name or scopes of a role have changed',
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
    replacementRoleId: Nullable(Type.String({ description: 'The role that its members now have' })),
  }),
  example: { roleId, replacementRoleId: 'editor' },
})

export const groupCreated = event({
  name: 'group.created',
  summary: 'A group was created',
  scope: 'team:read',
  data: GroupView,
  example: group,
})

export const groupUpdated = event({
  name: 'group.updated',
  summary: 'The name, scopes or members of a group have changed',
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
