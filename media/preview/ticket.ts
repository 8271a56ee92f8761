import { isSame, Key } from '../../src/tools/keys.ts'

/** A ticket is used at once. The lifetime allows for clocks that differ. */
const LIFETIME_MS = 60_000

/**
 * Signs a ticket that authorizes one node of the installation at the media process of another: `<expiry>.<signature>`.
 * @param subject what the ticket is valid for: a stream id, or a fixed name
 */
export function makeTicket(key: Uint8Array, subject: string, now: number): string {
  const expires = now + LIFETIME_MS
  return `${expires}.${signature(key, subject, expires)}`
}

/** Whether a ticket is signed for this subject and has not expired. The comparison takes constant time. */
export function isTicketValid(key: Uint8Array, subject: string, ticket: string, now: number): boolean {
  const [expires = '', signed = ''] = ticket.split('.', 2)
  if (!/^\d{1,15}$/.test(expires) || Number(expires) < now) return false
  return isSame(signature(key, subject, Number(expires)), signed)
}

function signature(key: Uint8Array, subject: string, expires: number): string {
  return new Key(key).mac(`preview ${subject} ${expires}`)
}
