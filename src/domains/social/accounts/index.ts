/** The parts of social accounts that other domains and the composition use. */

export { PlatformKey } from './schemas.ts'
