import { buffer } from 'node:stream/consumers'
import { InvalidCredential } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope, Id, Nullable, OneOf, Type } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { MOST_MAIL_BYTES } from './mail/drop-folder.ts'

export const receiveSupportMail = operation({
  route: 'POST /api/support/inbound-mail',
  summary: 'Receive a mail to the support team',
  description:
    'For a mail server: send each mail as it arrived (RFC 5322, `message/rfc822`, at most 25 MB), with SUPPORT_INBOUND_SECRET as the bearer token. A reply to a mail of a ticket is added to the ticket, and another mail of a user to SUPPORT_ADDRESS becomes a ticket. Automatic replies and bounces are ignored. The same mail can be sent again.',
  access: 'public',
  bearer: 'own',
  limit: 'none',
  upload: { kind: 'raw', maxBytes: MOST_MAIL_BYTES },
  returns: {
    200: Envelope(
      Type.Object({
        outcome: OneOf(['reply', 'ticket', 'duplicate', 'ignored'] as const, {
          description:
            '`reply`: it was added to a ticket. `ticket`: it became a ticket. `duplicate`: it was taken before. `ignored`: nothing was done',
        }),
        ignoredFor: Nullable(Type.String({ description: 'Why it was ignored, as a stable word' })),
        ticketId: Nullable(Id),
      }),
    ),
  },
  errors: [InvalidCredential, StorageFull, StorageUnavailable],
  example: {},
  handle: async ({ bearer, support, upload }) => {
    const mails = support.mailsFor(bearer)
    const { outcome, reason, ticketId } = await mails.take(await buffer(upload.stream))
    return ok('Mail received', { outcome, ignoredFor: reason, ticketId })
  },
})
