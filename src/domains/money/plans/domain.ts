import { domain } from '../../../core/domain.ts'
import * as operations from './operations.ts'
import { planEntities } from './tables.ts'

export const plans = domain({ name: 'plans', about: 'Plans and what they allow', operations, entities: planEntities })
