import { domain } from '../../../core/domain.ts'

export const mediaNodes = domain({ name: 'streams' })
