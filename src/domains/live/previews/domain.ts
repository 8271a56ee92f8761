import { domain } from '../../../core/domain.ts'
import * as operations from './operations.ts'

export const previews = domain({ name: 'streams', operations })
