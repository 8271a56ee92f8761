import { Provided } from '../../../core/provided.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { zoneRules } from '../calendar/index.ts'
import { AccountTargets } from './accounts/account-targets.ts'
import { BudgetPlanner } from './budgets/planner.ts'
import { NewPostTimes } from './new-post-times.ts'
import { SlotFinder } from './slots/finder.ts'
import { PostQueues } from './slots/queues.ts'
import type { DuePublisher } from './wake/jobs.ts'
import { TimeMover } from './zones/mover.ts'
import { ZoneWatch } from './zones/watch.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly planning: ReturnType<typeof composePlanning>['services']['planning']
  }
}

/** Builds the services that give posts their times. */
export function composePlanning(
  { clock, database: sql, turns }: Foundation,
  { posts, socialAccounts }: Pick<Services, 'posts' | 'socialAccounts'>,
) {
  const queues = new PostQueues(sql, clock)
  const slots = new SlotFinder(sql, clock, queues)
  const room = new BudgetPlanner(clock, socialAccounts.directory, slots)
  socialAccounts.accounts.registerPosts(new AccountTargets(clock, posts.approvals))
  return {
    services: {
      planning: {
        /** Set by the domain of publication. */
        publisher: new Provided<DuePublisher>('the publisher of posts'),
        queues,
        slots,
        room,
        times: new NewPostTimes(room, slots),
        timeMover: new TimeMover(clock),
        zoneWatch: new ZoneWatch({ sql, clock, turns, rules: zoneRules, version: process.versions.tz ?? '' }),
      },
    },
  }
}
