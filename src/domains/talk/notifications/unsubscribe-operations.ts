import { operation } from '../../../core/operation.ts'
import { Input, Type } from '../../../core/schema.ts'
import { HTML } from '../../../core/html-page.ts'

const PAGE = { contentType: HTML } as const
const TokenPath = Input({
  token: Type.String({ minLength: 1, maxLength: 1_000, description: 'The end of the link of a mail' }),
})
const path = { token: 'EXAMPLE.EXAMPLE' }

export const openUnsubscribePage = operation({
  route: 'GET /api/unsubscribe/{token}',
  summary: 'Open the page of a link to unsubscribe',
  description: 'Shows which mails the link turns off. Changes nothing, because mail scanners open links too.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  example: { path },
  handle: async ({ notifications, path: { token } }) => notifications.unsubscriptions.page(token),
})

export const unsubscribeFromMails = operation({
  route: 'POST /api/unsubscribe/{token}',
  summary: 'Unsubscribe from mails about a kind of notification',
  description:
    'The link is in the header List-Unsubscribe of each mail about notifications. One click, as RFC 8058 describes: it needs no login, and its body is not read. Mails about the security of the account and about billing cannot be turned off.',
  access: 'public',
  path: TokenPath,
  returns: { 200: PAGE, 404: PAGE },
  example: { path },
  handle: async ({ notifications, path: { token } }) => notifications.unsubscriptions.apply(token),
})
