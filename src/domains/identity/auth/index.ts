/** What other domains may use of auth. */

export { holdingOf, stillHeld, type Holding } from './holdings.ts'
