import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { ApprovalBoard } from './board.ts'
import { ApprovalDesk } from './desk.ts'
import { ApprovalFlows } from './flows.ts'
import { PostGate } from './gate.ts'
import { recheckApprovals } from './jobs.ts'
import { Reviews } from './reviews.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly approvals: ReturnType<typeof composeApprovals>['services']['approvals']
  }
}

/** Builds the services of the domain. Provides the approvals that posts declare. */
export function composeApprovals(
  { clock, database: sql }: Foundation,
  { posts, workspaces }: Pick<Services, 'posts' | 'workspaces'>,
) {
  const reviews = new Reviews(clock)
  posts.approvals.provide(new PostGate(reviews))
  workspaces.memberships.onTurnChange((turn) => {
    turn.job(recheckApprovals, {}, { key: turn.workspaceId })
  })
  const approvals = {
    flows: new ApprovalFlows(sql, clock, reviews),
    desk: new ApprovalDesk(clock, reviews, posts.checks),
    board: new ApprovalBoard(sql),
  }
  return { services: { approvals } }
}
