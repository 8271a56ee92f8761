import { Type } from 'typebox'
import { Set as setFormat } from 'typebox/format'

/** Whether a name is a time zone of the IANA database, including links such as `Asia/Calcutta`. Offsets are refused. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

setFormat('iana-time-zone', isTimeZone)

/** A time zone sent by a caller. */
export const TimeZone = Type.String({
  format: 'iana-time-zone',
  maxLength: 64,
  description: 'IANA time zone, such as Europe/Berlin',
})
