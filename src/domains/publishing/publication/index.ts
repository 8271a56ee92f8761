/** What other domains use of publication. */

export { retryDelayMs } from './attempts/retry-policy.ts'
export { type NewPart, partsOf } from './claims/parts.ts'
export type { JustPublished } from './outcomes/outcomes.ts'
