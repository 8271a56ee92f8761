import { domain } from '../../../domain.ts'
import { composeStreams } from './compose.ts'
import { streamEntities } from './tables.ts'
import * as events from './events.ts'
import * as notifications from './notifications.ts'
import * as operations from './operations.ts'
import { streamTurns } from './turns.ts'
import { personal } from './personal-data.ts'

export const streams = domain({
  personal,
  name: 'streams',
  about: 'Live streams: ingest, destinations, relay and usage',
  operations,
  events,
  notifications,
  turns: streamTurns,
  entities: streamEntities,
  resources: ['streams'],
  compose: composeStreams,
})
