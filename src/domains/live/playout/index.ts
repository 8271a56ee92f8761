/** What other domains and the composition use of playout. */

export { composePlayout } from './compose.ts'
export { desiredPlayout, type DesiredStateWithPlayout } from './desired-playout.ts'
export { PlayoutKeeper } from './playout-keeper.ts'
export { assetsInBroadcasts, stopBroadcast } from './store.ts'
