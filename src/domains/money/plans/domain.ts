import { domain } from '../../../core/domain.ts'
import { planEntities } from './entities.ts'
import * as operations from './operations.ts'

export const plans = domain({ name: 'plans', about: 'Plans and what they allow', operations, entities: planEntities })
