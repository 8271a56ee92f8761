import { Type } from '../../../core/schema.ts'

/**
 * An email address in a request. Quoted local parts are refused, because mail systems disagree on them and they may
 * contain line breaks.
 */
export const EmailInput = Type.String({
  format: 'email',
  pattern: '^[^\\s"@]+@[^\\s"@]+$',
  maxLength: 254,
  description: 'an email address',
})

/** The form in which an address is stored, compared and counted. */
export function normalizeEmail(address: string): string {
  return address.trim().normalize('NFC').toLowerCase()
}
