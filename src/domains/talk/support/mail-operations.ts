import { buffer } from 'node:stream/consumers'
import { InvalidCredential } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope, Id, Nullable, OneOf, Type } from '../../../core/schema.ts'
import { StorageFull, StorageUnavailable } from '../../../storage/errors.ts'
import { MAX_MAIL_BYTES } from './mail/drop-folder.ts'

export const receiveSupportMail = operation({
  route: 'POST /api/support/inbound-mail',
  summary: 'Receive a mail to the support team',
  description:
    'For a mail server: send each mail as it arrived (RFC 5322, `message/rfc822`, at most 25 MB), with SUPPORT_INBOUND_SECRET as the bearer token, or signed with it. A reply to a mail of a ticket is added to the ticket, and another mail of a user to SUPPORT_ADDRESS becomes a ticket. Both need `dmarc=pass` in the topmost Authentication-Results field of SUPPORT_AUTHSERV_ID. Other mails become tickets or notes for the support team only, marked with `isUnverified`. Automatic replies and bounces are ignored. The same mail can be sent again.\n\nThe signature is `Crier-Signature: t=<Unix time>,sha256=<digest>,v1=<HMAC>`: the SHA-256 digest of the mail, and the HMAC (SHA-256) of `<Unix time>.<digest>` with SUPPORT_INBOUND_SECRET as the key, both hexadecimal. The time may differ from that of the server by five minutes. In a shell: `t=$(date +%s); d=$(openssl dgst -sha256 -r mail.eml | cut -c1-64); v1=$(printf %s "$t.$d" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -c1-64)`.',
  access: 'public',
  bearer: 'own',
  signature: 'crier-signature',
  limit: 'none',
  upload: { kind: 'raw', maxBytes: MAX_MAIL_BYTES },
  returns: {
    200: Envelope(
      Type.Object({
        outcome: OneOf(['reply', 'ticket', 'note', 'duplicate', 'ignored'] as const, {
          description:
            '`reply`: it was added to a ticket. `ticket`: it became a ticket. `note`: it was added to a ticket as a note for the support team. `duplicate`: it was taken before. `ignored`: nothing was done',
        }),
        ignoredFor: Nullable(Type.String({ description: 'Why it was ignored, as a stable word' })),
        isUnverified: Type.Boolean({
          description: 'Whether From could not be verified, so that only the support team sees the mail',
        }),
        ticketId: Nullable(Id),
      }),
    ),
  },
  errors: [InvalidCredential, StorageFull, StorageUnavailable],
  example: {},
  handle: async ({ bearer, signature, support, upload }) => {
    const mails = support.mailsFor({ bearer, signature })
    const { isUnverified, outcome, reason, ticketId } = await mails.take(await buffer(upload.stream))
    return ok('Mail received', { outcome, ignoredFor: reason, isUnverified, ticketId })
  },
})
