import { domain } from '../../../domain.ts'
import { composeMediaLink } from './compose.ts'
import * as operations from './operations.ts'

export const mediaLink = domain({ name: 'streams', operations, compose: composeMediaLink })
