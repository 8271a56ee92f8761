import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

/** In the API, these operations belong to the service `users`. */
export const apiKeys = domain({ name: 'users', operations })
