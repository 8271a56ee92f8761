/** What other domains and the composition use of playout. */

export { desiredPlayout, type DesiredStateWithPlayout } from './desired-playout.ts'
export { NodePlayouts } from './node-playouts.ts'
