import { domain } from '../../../domain.ts'
import { composeMediaNodes } from './compose.ts'

export const mediaNodes = domain({ name: 'streams', compose: composeMediaNodes })
