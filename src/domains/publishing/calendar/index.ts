/** What other domains use of calendar. */

export {
  type Blackout,
  explainShortage,
  type FreeSlot,
  type FreeSlots,
  HORIZON_DAYS,
  isFree,
  MAX_BLACKOUTS,
  MAX_SLOTS,
  parseQueue,
  type Queue,
  type QueueSlot,
  slotsAfter,
} from './queue/queue.ts'
export { firstAfter, type TakenTimes } from './queue/taken-times.ts'
export { labelOf, QueueRequest } from './queue/queue-request.ts'
export {
  Exdates,
  MaybeOccurrence,
  OccurrenceKey,
  Rdates,
  Rrule,
  SeriesPath,
  variationsInput,
} from './recurrence/input.ts'
export {
  type Occurrence,
  occurrences,
  parseRecurrence,
  type Recurrence,
  type RecurrenceInput,
} from './recurrence/recurrence.ts'
export { dayBounds, dayKey } from './time/days.ts'
export { formatLocal, parseDate, parseLocal, startOfLocalDay } from './time/local-time.ts'
export type { Outcome } from './time/outcome.ts'
export { TimeAdjustment } from './time/schemas.ts'
export { localAt, rederive, resolveLocal, schedule, scheduledTime } from './time/wall-clock.ts'
export { zoneRules, type ZoneRules } from './time/zones.ts'
