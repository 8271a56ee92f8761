import { MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'
import { moveSchedules, recordReport, startSchedule } from './turns.ts'

export const makeReport = job({
  name: 'reports.make',
  summary: 'Make the file of a report',
  queue: 'media',
  data: Type.Object({ reportId: Id }),
  attempts: 4,
  timeoutMs: 5 * MINUTE,
  seenBy: 'analytics:read',
  run: ({ attempt, data, log, progress, reports, signal }) =>
    reports.maker.make(data.reportId, { log, progress, signal, last: attempt.number >= attempt.of }),
})

export const deliverReport = job({
  name: 'reports.deliver',
  summary: 'Send a report to an address or a channel',
  queue: 'mail',
  data: Type.Object({ deliveryId: Id }),
  // About twenty minutes.
  attempts: 10,
  backoff: { firstMs: 1_000, maxMs: 5 * MINUTE },
  run: ({ attempt, data, mailer, reports }) =>
    reports.courier.deliver(data.deliveryId, {
      mailer,
      jobId: attempt.jobId,
      last: attempt.number >= attempt.of,
    }),
})

export const moveReportSchedules = job({
  name: 'reports.move',
  summary: 'Move schedules of reports to the zone of the workspace',
  queue: 'default',
  data: Type.Object({}),
  run: async ({ turns, workspaceId }) => {
    if (workspaceId !== undefined) await turns.system(workspaceId, moveSchedules, {})
  },
})

export const startDueReports = schedule({
  name: 'reports.due',
  summary: 'Start due reports, and end those whose job was lost',
  cron: '* * * * *',
  timeoutMs: 10 * MINUTE,
  run: async ({ log, reports, signal, turns }) => {
    for (const { id, workspaceId } of await reports.schedules.due()) {
      signal.throwIfAborted()
      try {
        await turns.system(workspaceId, startSchedule, { scheduleId: id })
      } catch (error) {
        // One workspace must not hold up the others. The next run tries it again.
        log.error({ scheduleId: id, error }, 'a report by schedule could not be started')
      }
    }
    const outcome = { error: 'It took too long. Request it again.' }
    for (const { id, workspaceId } of await reports.files.lost()) {
      await turns.system(workspaceId, recordReport, { reportId: id, outcome })
    }
  },
})

export const pruneReports = schedule({
  name: 'reports.prune',
  summary: 'Delete reports that are older than 90 days',
  cron: '41 3 * * *',
  run: async ({ reports }) => void (await reports.files.prune()),
})
