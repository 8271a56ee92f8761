import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

/** In the API, these operations belong to the service `auth`. */
export const secondFactor = domain({ name: 'auth', operations })
