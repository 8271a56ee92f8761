import { defineError } from '../../../core/error.ts'

export const NoApprovalFlow = defineError({
  code: 'no_approval_flow',
  status: 409,
  message: 'The workspace has no approval flow, so posts need no approval. Schedule or publish the post directly.',
  cause: 'A post can only be submitted in a workspace with an approval flow.',
  fix: 'Schedule or publish the post, or add a flow with PUT /api/approvals/{workspaceId}/flow.',
})

export const PingedRecently = defineError({
  code: 'approvers_pinged_recently',
  status: 429,
  message: 'The approvers of this post were reminded less than an hour ago.',
  cause: 'The approvers of a post can be reminded once an hour.',
  fix: 'Wait for the number of seconds in Retry-After.',
})
