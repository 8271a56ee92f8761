/** What other domains and the composition use of social accounts. */

export { PlatformKey } from './schemas.ts'
