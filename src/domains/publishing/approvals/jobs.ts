import { job } from '../../../core/job.ts'
import { Id, Timestamp, Type } from '../../../core/schema.ts'
import { announceTurn, endStageTurn, recheckTurn } from './turns.ts'

/** Does what the flow says when nobody has decided in time. */
export const endStage = job({
  name: 'approvals.deadline',
  summary: 'End a stage of an approval at its deadline',
  queue: 'default',
  data: Type.Object({ postId: Id, opening: Type.Integer() }),
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, endStageTurn, data)
  },
})

/** One notification for each approver, however many posts were submitted at once. */
export const announceStages = job({
  name: 'approvals.announce',
  summary: 'Tell approvers which posts wait for them',
  queue: 'default',
  data: Type.Object({ since: Timestamp }),
  run: async ({ data, turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, announceTurn, data)
  },
})

/** Members, roles, groups or guest links have changed. */
export const recheckApprovals = job({
  name: 'approvals.recheck',
  summary: 'Count again who can approve posts',
  queue: 'default',
  data: Type.Object({}),
  run: async ({ turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, recheckTurn, {})
  },
})
