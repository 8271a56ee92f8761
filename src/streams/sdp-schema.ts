import { Type } from '../core/schema.ts'

/** A browser's offer has 4 to 10 kB. */
export const MOST_SDP_BYTES = 65_536

export const Sdp = Type.String({
  minLength: 1,
  maxLength: MOST_SDP_BYTES,
  'x-verbatim': true,
  description: 'Session description (RFC 8866)',
})
