import { domain } from '../../../../domain.ts'
import * as operations from './operations.ts'

/** The contract has the API keys of a user under `users`. */
export const apiKeys = domain({ name: 'users', operations })
