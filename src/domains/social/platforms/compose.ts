import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { PlatformReplies } from './replies.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly platformReplies: PlatformReplies
  }
}

/** Builds the services of platforms. */
export function composePlatforms(_foundation: Foundation, { socialAccounts }: Pick<Services, 'socialAccounts'>) {
  return { services: { platformReplies: new PlatformReplies(socialAccounts.directory) } }
}
