import { domain } from '../../../domain.ts'
import { composePlanning } from './compose.ts'
import * as queueEvents from './slots/events.ts'
import * as operations from './slots/operations.ts'
import { PostQueue } from './slots/tables.ts'
import { publishDue } from './wake/jobs.ts'
import * as zoneEvents from './zones/events.ts'
import { checkZones } from './zones/jobs.ts'
import { ZoneCheck } from './zones/tables.ts'
import * as turns from './zones/turns.ts'

export const planning = domain({
  name: 'posts',
  operations,
  events: { ...queueEvents, ...zoneEvents },
  jobs: { publishDue, checkZones },
  turns: Object.values(turns),
  entities: [PostQueue, ZoneCheck],
  compose: composePlanning,
})
