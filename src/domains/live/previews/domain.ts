import { domain } from '../../../domain.ts'
import { composePreviews } from './compose.ts'
import * as operations from './operations.ts'

export const previews = domain({ name: 'streams', operations, compose: composePreviews })
