/** What other domains and the composition use of the media link. */

export { composeLive } from './compose.ts'
export { DesiredStates } from './desired-states.ts'
export { MediaLink } from './media-link.ts'
export { Sweeper } from './sweeper.ts'
export type { AskWhip } from './whip.ts'
