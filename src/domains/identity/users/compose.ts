import type { Foundation } from '../../../foundation.ts'
import { ProfilePictures } from './pictures.ts'
import { UserService } from './service.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly users: ReturnType<typeof composeUsers>['services']['users']
  }
}

/** Builds the services of the domain. */
export function composeUsers(foundation: Foundation) {
  const accounts = new UserService(foundation)
  const pictures = new ProfilePictures(foundation)
  return { services: { users: { accounts, pictures } } }
}
