import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
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
