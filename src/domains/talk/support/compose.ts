import { join } from 'node:path'
import { InvalidCredential } from '../../../core/errors.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { findTicketFiles, TicketAttachments } from './attachments.ts'
import { CannedReplies } from './canned.ts'
import { DropFolder } from './mail/drop-folder.ts'
import { InboundMails } from './mail/inbound.ts'
import { readSignature } from './mail/sender-signature.ts'
import { ReplyAddresses } from './mail/reply-address.ts'
import { TicketNotices } from './notices.ts'
import { TicketReader } from './reader.ts'
import { targetsOf } from './targets.ts'
import { Tickets } from './tickets.ts'
import { isSameSecret } from '../../../tools/keys.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly support: ReturnType<typeof composeSupport>['services']['support']
  }
}

/** Builds the services of the domain. Mails are received if SUPPORT_ADDRESS is set. */
export function composeSupport(foundation: Foundation, { assets }: Pick<Services, 'assets'>) {
  const { clock, config, database: sql, log, secret, storage } = foundation
  const addresses =
    config.SUPPORT_ADDRESS === undefined ? undefined : new ReplyAddresses(secret, config.SUPPORT_ADDRESS)
  assets.housekeeping.keep(findTicketFiles)
  const attachments = new TicketAttachments(sql, clock, storage)
  const targets = targetsOf(config.SUPPORT_FIRST_RESPONSE_HOURS, config.SUPPORT_RESOLUTION_HOURS)
  const reader = new TicketReader(sql, clock, targets, attachments)
  const notices = new TicketNotices(foundation, addresses)
  const tickets = new Tickets(foundation, { attachments, reader, notices })
  const mails =
    addresses &&
    new InboundMails(foundation, { addresses, authservId: config.SUPPORT_AUTHSERV_ID, attachments, notices, tickets })
  const folder = mails && new DropFolder(join(config.DATA_DIR, 'inbound-mail'), mails, log)
  const support = {
    attachments,
    canned: new CannedReplies(sql, clock),
    reader,
    tickets,
    /** Takes mails of a mail server that has the secret. @throws AppError invalid_credential */
    mailsFor: ({ bearer, signature }: Proof): Pick<InboundMails, 'take'> => {
      const expected = config.SUPPORT_INBOUND_SECRET
      if (mails === undefined || expected === undefined) {
        throw InvalidCredential({
          message:
            'This server does not accept mail at this address. To accept it, the operator must set SUPPORT_ADDRESS and SUPPORT_INBOUND_SECRET.',
        })
      }
      if (bearer !== undefined && isSameSecret(bearer, expected)) return mails
      const isSigned = bearer === undefined && signature ? readSignature(signature, expected, clock.now()) : undefined
      if (isSigned === undefined)
        throw InvalidCredential({ message: bearer === undefined && signature ? STALE : WRONG })
      return {
        take: (mail) => {
          if (!isSigned(mail)) throw InvalidCredential({ message: OTHER_MAIL })
          return mails.take(mail)
        },
      }
    },
  }
  return { services: { support }, start: async () => folder?.start(), close: async () => folder?.close() }
}

/** What shows that a mail comes from the mail server. */
interface Proof {
  readonly bearer: string | undefined
  readonly signature: string | undefined
}

const WRONG =
  'The secret for incoming mail is missing or wrong. Send the SUPPORT_INBOUND_SECRET of this server as `Authorization: Bearer …`, or sign the mail with it in `Crier-Signature`.'
const STALE =
  'The header Crier-Signature is not valid. Sign with the SUPPORT_INBOUND_SECRET of this server, in the form `t=…,sha256=…,v1=…`, with the current time (at most five minutes off).'
const OTHER_MAIL =
  'The `sha256` in `Crier-Signature` is not the digest of this mail. Compute it from the exact bytes that you send, including line breaks.'
