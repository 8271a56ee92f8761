import type { Occurrence } from '../../calendar/index.ts'
import type { PlainOccurrenceData, SeriesSummaryData } from './schemas.ts'
import type { SeriesRow } from './tables.ts'

/** A series as the API shows it, without its occurrences. */
export function summaryOf(row: SeriesRow): SeriesSummaryData {
  const { body, labels, lateMinutes, targets, variations } = row.template
  const view = {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    workspaceId: row.workspaceId,
    version: row.version,
    status: row.status,
    statusReason: row.problem,
    recurrence: { rrule: row.rrule, exdates: row.exdates, rdates: row.rdates },
    localTime: row.localTime,
    timezone: row.timeZone,
    startsFrom: row.startsFrom,
    endsBefore: row.endsBefore,
    ...body,
    labels,
    lateMinutes,
    targets,
    variations,
    postCount: row.madeCount,
    missedCount: row.missedCount,
    createdBy: row.createdBy,
    authorId: row.authorId,
    endedAt: row.endedAt,
  }
  return view as unknown as SeriesSummaryData
}

export function occurrenceView({ adjustment, instant, key, timezone, wallClock }: Occurrence): PlainOccurrenceData {
  return {
    occurrence: key,
    scheduledFor: instant.toISOString(),
    localTime: wallClock,
    timezone,
    timeAdjustment: adjustment,
  }
}
