/** What other domains and the composition use of playout. */

export { desiredPlayout, type DesiredStateWithPlayout } from './desired-playout.ts'
export { PlayoutKeeper } from './playout-keeper.ts'
