import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

/** In the API, these operations belong to the service `auth`. */
export const passkeys = domain({ name: 'auth', operations })
