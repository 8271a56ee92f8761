/** The parts of social accounts that other domains and the composition use. */

export type { AccountNow } from './capabilities.ts'
export { PlatformKey } from './schemas.ts'
export { AccountStatusSchema } from './status.ts'
