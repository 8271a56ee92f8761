import { EXAMPLE } from '../../../core/example-ids.ts'
import { NotFound, PreconditionFailed, ValidationFailed } from '../../../core/errors.ts'
import { from, operation } from '../../../core/operation.ts'
import { done, ok } from '../../../core/reply.ts'
import { Done, Envelope } from '../../../core/schema.ts'
import { FlowInput, FlowPath, FlowView } from './schemas.ts'

const path = { workspaceId: EXAMPLE.workspaceId }

export const getApprovalFlow = operation({
  route: 'GET /api/approvals/{workspaceId}/flow',
  summary: 'Get the approval flow',
  description: 'Replies 404 if the workspace has no flow. Its posts need no approval then.',
  access: 'posts:read',
  workspace: from.path('workspaceId'),
  path: FlowPath,
  etag: true,
  returns: { 200: Envelope(FlowView) },
  errors: [NotFound],
  example: { path },
  handle: async ({ approvals, path: { workspaceId } }) => ok('Approval flow', await approvals.flows.get(workspaceId)),
})

export const replaceApprovalFlow = operation({
  route: 'PUT /api/approvals/{workspaceId}/flow',
  summary: 'Add or replace the approval flow',
  description:
    'While a workspace has a flow, every post goes into review before it is scheduled or published, and keeps its time. Only resolveApprovalStage skips a stage, and it requires a reason. Posts that were scheduled before stay scheduled until they change. Posts in review continue in the new flow: they stay where they are if that stage and those before it have the same approvers and rule, and otherwise go back to the first stage that differs.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: FlowPath,
  body: FlowInput,
  etag: true,
  returns: { 200: Envelope(FlowView) },
  errors: [PreconditionFailed, ValidationFailed],
  example: { path, body: { stages: [{ name: 'Legal', approvers: { roleIds: ['owner'] }, rule: 'any' }] } },
  handle: async ({ approvals, body, ifMatch, turn }) =>
    ok('Approval flow saved', await approvals.flows.replace(turn, body, ifMatch)),
})

export const deleteApprovalFlow = operation({
  route: 'DELETE /api/approvals/{workspaceId}/flow',
  summary: 'Delete the approval flow',
  description:
    'Posts in review are drafts again and keep their times. Posts that are ready can still be released, and approved posts stay scheduled.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: FlowPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: { path },
  handle: async ({ approvals, ifMatch, turn }) => {
    await approvals.flows.delete(turn, ifMatch)
    return done('Approval flow deleted')
  },
})
