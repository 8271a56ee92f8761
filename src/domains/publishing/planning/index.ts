/** What other domains use of planning. */

export { DELETED, DISCONNECTED } from './accounts/reasons.ts'
export { accountLimits, type Planned, type BudgetPlanner } from './budgets/planner.ts'
export { type NewPostTimes, timeOf, type Timing, wantedTargets } from './new-post-times.ts'
export { newTarget, type Resources, type Wanted, type WantedTarget } from './new-target.ts'
export { requireNewTimesToCome } from './new-times.ts'
export { scheduled, startBy, timed, timesOf } from './planning.ts'
export type { SlotFinder } from './slots/finder.ts'
export { plannedTime, type PlannedTime, PUBLISH, requireToCome, timeOfPost } from './time.ts'
export { publishDue } from './wake/jobs.ts'
export { LEAD_MS, publishAt, tryAgainAt } from './wake/wake.ts'
export { hasTime, requireOneTime, requireTargets } from './wanted-time.ts'
