import { createHmac, timingSafeEqual } from 'node:crypto'

/** A ticket is used the moment it is made; the rest is for clocks that differ. */
const LIFE_MS = 60_000

/** What lets a node of the installation read one stream from the media process of another: `<expiry>.<signature>`. */
export function makeTicket(key: Uint8Array, streamId: string, now: number): string {
  const expires = now + LIFE_MS
  return `${expires}.${signature(key, streamId, expires)}`
}

export function ticketIsGood(key: Uint8Array, streamId: string, ticket: string, now: number): boolean {
  const [expires = '', given = ''] = ticket.split('.', 2)
  if (!/^\d{1,15}$/.test(expires) || Number(expires) < now) return false
  const right = Buffer.from(signature(key, streamId, Number(expires)))
  const other = Buffer.from(given)
  return right.length === other.length && timingSafeEqual(right, other)
}

function signature(key: Uint8Array, streamId: string, expires: number): string {
  return createHmac('sha256', key).update(`preview ${streamId} ${expires}`).digest('base64url')
}
