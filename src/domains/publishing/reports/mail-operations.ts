import { HTML } from '../../../core/html-page.ts'
import { operation } from '../../../core/operation.ts'
import { FILE } from '../../../core/reply.ts'
import { TokenPath } from './schemas.ts'

const PAGE = { contentType: HTML } as const
const path = { token: 'EXAMPLE.EXAMPLE' }

export const openReportMail = operation({
  route: 'GET /api/report-mails/{token}',
  summary: 'Show the confirmation page of a report email',
  description:
    'Asks the recipient to confirm or to unsubscribe. Opening the page changes nothing, because mail scanners open links too.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  languages: true,
  example: { path },
  handle: async ({ acceptLanguage, path: { token }, reports }) => reports.recipients.page(token, acceptLanguage),
})

export const answerReportMail = operation({
  route: 'POST /api/report-mails/{token}',
  summary: 'Confirm or unsubscribe a report recipient',
  description:
    'The List-Unsubscribe header of each report email contains the link. It works with one click (RFC 8058): no login is needed, and the request body is ignored.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  languages: true,
  example: { path },
  handle: async ({ acceptLanguage, path: { token }, reports }) => reports.recipients.apply(token, acceptLanguage),
})

export const openMailedReport = operation({
  route: 'GET /api/report-files/{token}',
  summary: 'Download a report from an email',
  description: 'The link in the email is the credential. It works until the report is deleted, at most 90 days.',
  access: 'public',
  path: TokenPath,
  returns: { 200: FILE, 404: PAGE },
  languages: true,
  example: { path },
  handle: async ({ acceptLanguage, path: { token }, reports }) => reports.courier.open(token, acceptLanguage),
})
