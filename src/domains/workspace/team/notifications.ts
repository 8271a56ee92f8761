import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const invitationReceived = notificationType({
  name: 'invitation.received',
  kind: 'teamInvitation',
  summary:
    'You were invited to a workspace. Sent if your address has an account; the invitation itself is always mailed',
  data: Type.Object({ invitationId: Type.String(), invitedTo: Type.String() }),
  example: { invitationId: EXAMPLE.invitationId, invitedTo: 'Acme' },
  resource: ({ invitationId }) => ({ kind: 'invitation', id: invitationId }),
  group: ({ invitationId }) => invitationId,
})

export const memberJoined = notificationType({
  name: 'member.joined',
  kind: 'memberJoined',
  summary: 'Somebody has accepted an invitation. Sent to members who manage the team',
  scope: 'team:manage',
  data: Type.Object({ userId: Type.String() }),
  example: { userId: EXAMPLE.userId },
  resource: ({ userId }) => ({ kind: 'member', id: userId }),
  group: () => '',
})
