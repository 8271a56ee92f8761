import {
  inWorkspace,
  make,
  newAddress,
  newName,
  times,
  type Fixtures,
  type Lists,
  type Rows,
  type Stage,
} from '../../../../test/support/stage.ts'
import { waitFor } from '../../../../test/support/wait.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type * as operations from './operations.ts'
import type { LinkPurpose } from './links.ts'
import { reportDeliveries, reportRecipients, reports } from './tables.ts'

export const rows: Rows = { reports: (stage) => report(stage), report_schedules: (stage) => schedule(stage) }

export const lists: Lists<typeof operations> = {
  listReports: async (stage, count) => {
    for (let day = 1; day <= count; day += 1) await report(stage, day)
    return {}
  },
  listReportSchedules: times((stage) => schedule(stage)),
}

export const fixtures: Fixtures<typeof operations> = {
  openReportMail: async (stage) => ({ path: { token: await token(stage, 'confirm') } }),
  // A page is not kept for a repetition with the same key. Repeating it does the same again.
  answerReportMail: async (stage) => ({ path: { token: await token(stage, 'unsubscribe') }, once: true }),
  openMailedReport: async (stage) => ({ path: { token: await token(stage, 'file') } }),
  createReportSchedule: async (stage) => ({
    body: {
      ...inWorkspace(stage),
      name: 'Weekly report for Acme',
      interval: 'week',
      weekday: 'monday',
      time: '08:00',
      recipientEmails: ['grace@example.com'],
    },
  }),
}

/** A report that is done. */
async function report({ app, owner, workspaceId }: Stage, day = 1): Promise<string> {
  const from = `2026-10-${String(day).padStart(2, '0')}`
  const body = { workspaceId, from, to: from, format: 'html' }
  const reply = await app.send('POST /api/analytics/reports', { apiKey: owner.apiKey, body })
  if (reply.status !== 202) throw new Error(`a report for a fixture: ${reply.text}`)
  const id: string = reply.body.data._id
  // Not by requests: each one advances the clock of recorded examples.
  await waitFor(() => reports.exists(app.database, { id, status: 'done' }), { what: 'the file of a report' })
  return id
}

function schedule(stage: Stage, body: object = {}): Promise<string> {
  return make(stage, 'POST /api/analytics/report-schedules', {
    ...inWorkspace(stage),
    name: newName('report'),
    interval: 'week',
    ...body,
  })
}

/** The token of a link in a mail to a client. */
async function token(stage: Stage, purpose: LinkPurpose): Promise<string> {
  const { app } = stage
  const scheduleId = await schedule(stage, { recipientEmails: [newAddress()] })
  const recipient = await reportRecipients.first(app.database, { scheduleId })
  const recipientId = recipient?.id ?? ''
  const id = purpose === 'file' ? await delivery(stage, recipientId) : recipientId
  return app.composition.services.reports.links.url({ purpose, id }, null).split('/').at(-1) ?? ''
}

async function delivery(stage: Stage, addressId: string): Promise<string> {
  const now = stage.app.clock.now()
  const at = new Date(now)
  const id = uuidv7(now)
  const row = { id, reportId: await report(stage), addressId, status: 'sent', createdAt: at, updatedAt: at } as const
  await reportDeliveries.insert(stage.app.database, row)
  return id
}
