import { Provided } from '../../../core/provided.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { ApprovalBoard } from './board.ts'
import { BulkApprovals } from './bulk.ts'
import { ApprovalActions } from './actions.ts'
import { ApprovalFlows } from './flows.ts'
import { PostGate } from './gate.ts'
import { GuestLinks } from './guests/links.ts'
import type { GuestBrand } from './guests/page.ts'
import { GuestPosts } from './guests/posts.ts'
import { GuestVisits } from './guests/visits.ts'
import { recheckApprovals } from './jobs.ts'
import { Reviews } from './reviews.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly approvals: ReturnType<typeof composeApprovals>['services']['approvals']
  }
}

/** Builds the services of the domain. Provides the approvals that posts declare. */
export function composeApprovals(
  { clock, config, database: sql, logs, secret, turns }: Foundation,
  { assets, auth, posts, workspaces, writing }: Pick<Services, 'assets' | 'auth' | 'posts' | 'workspaces' | 'writing'>,
) {
  const reviews = new Reviews(clock)
  posts.approvals.provide(new PostGate(reviews))
  workspaces.memberships.onTurnChange((turn) => {
    turn.job(recheckApprovals, {}, { key: turn.workspaceId })
  })
  const publicUrl = config.PUBLIC_URL
  const guests = new GuestLinks({ sql, clock, secret, publicUrl, hasher: auth.hasher })
  const guestPosts = new GuestPosts(sql, assets.postFiles)
  const actions = new ApprovalActions(clock, reviews, writing.checks, logs)
  const brands = new Provided<(workspaceId: string) => Promise<GuestBrand>>('the brands of workspaces')
  const brandOf = (workspaceId: string) => brands.get()(workspaceId)
  const approvals = {
    bulk: new BulkApprovals(actions, writing.bulkChanges),
    flows: new ApprovalFlows(sql, clock, reviews),
    actions,
    board: new ApprovalBoard(sql),
    guests,
    brands,
    visits: new GuestVisits({ sql, clock, logs, turns, links: guests, posts: guestPosts, brandOf, publicUrl }),
  }
  return { services: { approvals } }
}
