import { email, fail, optional, secret, withDefault } from './setting-readers.ts'

/** Four numbers of hours: for the priorities low, normal, high and urgent. */
const fourHours = (value: string): readonly number[] => {
  const hours = value.split(',').map((part) => Number(part.trim()))
  const isValid = hours.length === 4 && hours.every((hour) => Number.isFinite(hour) && hour > 0 && hour <= 8_760)
  return isValid ? hours : fail('must be four numbers of hours, comma-separated, from more than 0 to 8760')
}

/** Settings of support tickets. */
export const supportSettings = {
  SUPPORT_ADDRESS: {
    summary:
      'Email address of the support team. Mails to it become tickets, and replies go to it with a signature after a +, so its mail server must deliver such addresses to POST /api/support/inbound-mail or DATA_DIR/inbound-mail',
    fallback: 'none (mails are not received)',
    parse: optional(email),
  },
  SUPPORT_INBOUND_SECRET: {
    summary:
      'Secret of the mail server that sends mails to POST /api/support/inbound-mail: as the bearer token, or as the key of the signature in Crier-Signature',
    fallback: 'none (only DATA_DIR/inbound-mail is used)',
    secret: true,
    parse: optional((value) => (/\s/.test(value) ? fail('must have no spaces') : secret(value))),
  },
  SUPPORT_AUTHSERV_ID: {
    summary:
      'Authserv-id of the mail server that receives mails to SUPPORT_ADDRESS: the name at the beginning of the Authentication-Results fields that it adds (RFC 8601), such as mx.example.com. It must check DMARC, and remove such fields from incoming mails',
    fallback: 'none (no sender is verified: mails become tickets and notes that are marked as unverified)',
    parse: optional((value) => (/^[^\s;()"=]+$/.test(value) ? value : fail('must be a name such as mx.example.com'))),
  },
  SUPPORT_FIRST_RESPONSE_HOURS: {
    summary: 'Targets for the first reply to a ticket, in hours, for the priorities low, normal, high and urgent',
    fallback: '48, 24, 8, 1',
    parse: withDefault(fourHours, [48, 24, 8, 1] as readonly number[]),
  },
  SUPPORT_RESOLUTION_HOURS: {
    summary: 'Targets for the resolution of a ticket, in hours, for the priorities low, normal, high and urgent',
    fallback: '240, 120, 48, 8',
    parse: withDefault(fourHours, [240, 120, 48, 8] as readonly number[]),
  },
} as const
