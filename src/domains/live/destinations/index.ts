/** What other domains and the composition use of destinations. */

export type { LivePlatformName } from './live-platforms.ts'
export { capsOf, rulesOf } from './platform-choice.ts'
export { PlatformCaps, type PlatformCapsData } from './schemas.ts'
export { RtmpDestination } from './tables.ts'
export { destinationAccess, findDestinations, markWorked, platformsOf } from './lookups.ts'
