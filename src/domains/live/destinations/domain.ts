import { domain } from '../../../domain.ts'
import { composeDestinations } from './compose.ts'
import * as events from './events.ts'
import * as operations from './operations.ts'
import { RtmpDestination } from './tables.ts'

export const destinations = domain({
  name: 'streams',
  operations,
  events,
  entities: [RtmpDestination],
  resources: ['rtmp_destinations'],
  compose: composeDestinations,
})
