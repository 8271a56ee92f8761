/** What other domains and the composition use of destinations. */

export type { LivePlatformName } from './live-platforms.ts'
export { DestinationFaultCode } from './fault-codes.ts'
export { capsOf, rulesOf } from './platform-choice.ts'
export type { ChangedDestination } from './service.ts'
export { PlatformCaps, type PlatformCapsData } from './schemas.ts'
export { RtmpDestination } from './tables.ts'
export { destinationAccess, findDestinations, markWorked, platformsOf } from './lookups.ts'
