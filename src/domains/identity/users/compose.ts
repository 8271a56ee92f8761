import type { Foundation } from '../../../foundation.ts'
import { ProfilePictures } from './pictures.ts'
import { UserService, type DefaultApiKeys } from './service.ts'
import type { Subscriptions } from './subscription.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly users: ReturnType<typeof composeUsers>
  }
}

/** Builds the services of the domain. */
export function composeUsers(
  { clock, database, mediaWork, scratch, storage }: Foundation,
  { apiKeys, subscriptions }: { readonly apiKeys: DefaultApiKeys; readonly subscriptions: Subscriptions },
) {
  return {
    accounts: new UserService({ database, clock, subscriptions, apiKeys }),
    pictures: new ProfilePictures({ database, clock, storage, mediaWork, tempDir: scratch }),
  }
}
