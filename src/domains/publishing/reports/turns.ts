import { systemTurn } from '../../../core/system-turn.ts'
import type { ReportOutcome } from './report-files.ts'

/** Ends a report. It has no effect if the report has ended. */
export const recordReport = systemTurn<{ readonly reportId: string; readonly outcome: ReportOutcome }>({
  name: 'reports.record',
  run: ({ input, reports, turn }) => reports.files.record(turn, input.reportId, input.outcome),
})

/** Ends a delivery. */
export const recordDelivery = systemTurn<{ readonly deliveryId: string; readonly error: string | null }>({
  name: 'reports.delivered',
  run: ({ input, reports, turn }) => reports.files.delivered(turn, input.deliveryId, input.error),
})

/** Posts a report in a channel. */
export const postReport = systemTurn<{ readonly deliveryId: string; readonly attachmentId: string }>({
  name: 'reports.post',
  run: ({ input, reports, turn }) => reports.courier.post(turn, input.deliveryId, input.attachmentId),
})

/** Requests the report of a due schedule. */
export const startSchedule = systemTurn<{ readonly scheduleId: string }>({
  name: 'reports.start',
  run: ({ input, reports, turn }) => reports.schedules.start(turn, input.scheduleId),
})

/** The owner of an address has answered. */
export const answerRecipient = systemTurn<{
  readonly recipientId: string
  readonly status: 'confirmed' | 'unsubscribed'
}>({
  name: 'reports.answer',
  run: ({ input, reports, turn }) => reports.schedules.answer(turn, input.recipientId, input.status),
})

/** The workspace has another zone. */
export const moveSchedules = systemTurn<Record<string, never>>({
  name: 'reports.move',
  run: ({ reports, turn }) => reports.schedules.moveToZone(turn),
})
