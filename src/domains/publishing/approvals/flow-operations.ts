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
    'While a workspace has a flow, every post goes into review before it is scheduled or published, and keeps its time. Only resolveApprovalStage skips a stage, and it requires a reason. Posts that were scheduled before stay scheduled until they change. Posts in review continue in the new flow: they stay where they are if that stage and those before it have the same approvers and rule, and otherwise go back to the first stage that differs. A post never passes because its stage was removed: it waits at the last stage until a holder of `approvals:manage` confirms it.',
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
    'Nothing is published because of this, and nothing leaves the schedule. Posts in review keep their times and become `ready`: releasePost publishes them at their times, and their authors are asked to. Approved posts stay scheduled.',
  access: 'approvals:manage',
  workspace: from.path('workspaceId'),
  turn: true,
  path: FlowPath,
  returns: { 200: Done },
  errors: [NotFound, PreconditionFailed],
  example: { path },
  handle: async ({ approvals, ifMatch, turn }) => {
    const count = await approvals.flows.delete(turn, ifMatch)
    const posts = count === 1 ? '1 post that was in review waits' : `${count} posts that were in review wait`
    return done(count === 0 ? 'Approval flow deleted' : `Approval flow deleted. ${posts} to be released`)
  },
})
