/** What other domains and the composition use of destinations. */

export type { LivePlatformName } from './live-platforms.ts'
export { capsOf, rulesOf } from './platform-choice.ts'
export { PlatformCaps, type PlatformCapsData } from './schemas.ts'
export { RtmpDestinations } from './service.ts'
export { RtmpDestination } from './tables.ts'
export { findDestinations, markWorked, platformsOf } from './lookups.ts'
