/** What other domains and the composition use of the media link. */

export type { DesiredStates } from './desired-states.ts'
export { MediaLink } from './media-link.ts'
export { Sweeper } from './sweeper.ts'
