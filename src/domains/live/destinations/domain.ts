import { domain } from '../../../core/domain.ts'
import { destinationEntities } from './entities.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'

export const destinations = domain({ name: 'streams', operations, events, entities: destinationEntities })
