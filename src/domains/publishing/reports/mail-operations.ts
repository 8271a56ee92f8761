import { operation } from '../../../core/operation.ts'
import { FILE } from '../../../core/reply.ts'
import { HTML } from './page.ts'
import { TokenPath } from './schemas.ts'

const PAGE = { contentType: HTML } as const
const path = { token: 'EXAMPLE.EXAMPLE' }

export const openReportMail = operation({
  route: 'GET /api/report-mails/{token}',
  summary: 'Open the page of a link in a mail about reports',
  description:
    'Asks whether an address should get the reports of a schedule, or no longer. Changes nothing, because mail scanners open links too.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  example: { path },
  handle: async ({ path: { token }, reports }) => reports.recipients.page(token),
})

export const answerReportMail = operation({
  route: 'POST /api/report-mails/{token}',
  summary: 'Confirm an address for reports, or unsubscribe it',
  description:
    'The link to unsubscribe is in the header List-Unsubscribe of each mail with a report. One click, as RFC 8058 describes: it needs no login, and its body is not read.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  example: { path },
  handle: async ({ path: { token }, reports }) => reports.recipients.apply(token),
})

export const openMailedReport = operation({
  route: 'GET /api/report-files/{token}',
  summary: 'Open the report of a mail',
  description: 'The link in the mail is the credential. It works until the report is deleted, after 90 days.',
  access: 'public',
  path: TokenPath,
  returns: { 200: FILE, 404: PAGE },
  example: { path },
  handle: async ({ path: { token }, reports }) => reports.courier.open(token),
})
