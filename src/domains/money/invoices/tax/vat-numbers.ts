import { checkVAT, countries } from 'jsvat-next'
import { isInEu } from './rates.ts'

/** The prefix of VAT numbers of a country: that of Greece is EL. */
const prefixOf = (country: string) => (country === 'GR' ? 'EL' : country)

/** A VAT number without spaces and punctuation, in upper case. */
export function normalizeVatNumber(text: string): string {
  return text.toUpperCase().replaceAll(/[\s.\-/]/g, '')
}

/**
 * Whether a VAT number has the form of its country in the European Union, and right check digits. Whether it was issued is
 * known only to the tax office (VIES).
 * @param vatNumber normalized, with the prefix of its country
 */
export function isVatNumber(vatNumber: string, country: string): boolean {
  if (!isInEu(country) || !vatNumber.startsWith(prefixOf(country))) return false
  return checkVAT(vatNumber, countries).isValid
}
