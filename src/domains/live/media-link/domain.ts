import { domain } from '../../../core/domain.ts'
import * as operations from './operations.ts'

export const mediaLink = domain({ name: 'streams', operations })
