/** What other domains use of auth. */

export { holdingOf, stillHeld, type Holding } from './holdings.ts'
