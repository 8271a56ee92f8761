import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { GuestView } from './guests/schemas.ts'
import { FlowView } from './schemas.ts'

export const flowUpdated = event({
  name: 'approvalFlow.updated',
  summary: 'The approval flow of the workspace was added or replaced',
  scope: 'posts:read',
  data: FlowView,
  example: {
    workspaceId: EXAMPLE.workspaceId,
    createdAt: EXAMPLE_TIME,
    updatedAt: EXAMPLE_TIME,
    version: 1,
    stages: [
      {
        name: 'Legal',
        approvers: { userIds: [EXAMPLE.userId], roleIds: ['owner'], groupIds: [], guests: false },
        rule: 'any',
        autoSchedule: true,
        deadlineHours: 24,
        afterDeadline: 'remind',
        parts: ['text', 'media', 'targets', 'times'],
      },
    ],
    authorsMayApprove: false,
  },
})

export const flowDeleted = event({
  name: 'approvalFlow.deleted',
  summary: 'The approval flow of the workspace was deleted. Posts need no approval any more',
  scope: 'posts:read',
  data: Type.Object({ approvalFlowId: Id }),
  example: { approvalFlowId: EXAMPLE.workspaceId },
})

export const guestCreated = event({
  name: 'approvalGuest.created',
  summary: 'A link for a guest was created',
  scope: 'approvals:manage',
  data: GuestView,
  example: {
    _id: EXAMPLE.postId,
    createdAt: EXAMPLE_TIME,
    updatedAt: EXAMPLE_TIME,
    workspaceId: EXAMPLE.workspaceId,
    name: 'Grace of Northwind',
    postId: null,
    label: 'northwind',
    accountId: null,
    timezone: 'Europe/Berlin',
    hasPasscode: true,
    expiresAt: EXAMPLE_TIME,
    revokedAt: null,
    lastSeenAt: null,
    createdBy: EXAMPLE.userId,
  },
})

export const guestRevoked = event({
  name: 'approvalGuest.revoked',
  summary: 'A link for a guest was revoked',
  scope: 'approvals:manage',
  data: Type.Object({ approvalGuestId: Id }),
  example: { approvalGuestId: EXAMPLE.postId },
})
