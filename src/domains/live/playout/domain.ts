import { domain } from '../../../domain.ts'
import { composePlayout } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { StreamBroadcast } from './tables.ts'
import { broadcastTurns } from './turns.ts'

export const playout = domain({
  name: 'streams',
  operations,
  events,
  jobs,
  turns: broadcastTurns,
  entities: [StreamBroadcast],
  compose: composePlayout,
})
