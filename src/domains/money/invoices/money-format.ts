import { code } from 'currency-codes'

/** Digits after the decimal point of a currency. From ISO 4217, because `Intl` differs from it for 29 currencies. */
export function digitsOf(currency: string): number {
  const found = code(currency)
  if (found === undefined) throw new RangeError(`${currency} is not a currency of ISO 4217`)
  return found.digits
}

/** An amount in minor units as a decimal number with a point: 1050 USD is `10.50`. */
export function decimalOf(amount: number, currency: string): string {
  const digits = digitsOf(currency)
  const text = String(Math.abs(amount)).padStart(digits + 1, '0')
  const cut = text.length - digits
  const fraction = digits === 0 ? '' : `.${text.slice(cut)}`
  return `${amount < 0 ? '-' : ''}${text.slice(0, cut)}${fraction}`
}

/** An amount as a reader of a language writes it. It is exact, because it is formatted as text. */
export function formatMoney(amount: number, currency: string, locale: string): string {
  const digits = digitsOf(currency)
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  return format.format(decimalOf(amount, currency) as `${number}`)
}

/** A day as a reader of a language writes it, in UTC. */
export function formatDay(at: string, locale: string): string {
  return formatsOf(locale).day.format(new Date(at))
}

/** A moment to the second as a reader of a language writes it, in UTC. */
export function formatMoment(at: string, locale: string): string {
  return formatsOf(locale).moment.format(new Date(at))
}

interface Formats {
  readonly locale: string
  readonly day: Intl.DateTimeFormat
  readonly moment: Intl.DateTimeFormat
}

/** Making a format takes much longer than using it, so the last one is kept. */
let newest: Formats | undefined

function formatsOf(locale: string): Formats {
  if (newest?.locale === locale) return newest
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' })
  newest = {
    locale,
    day: format({ dateStyle: 'medium' }),
    moment: format({ dateStyle: 'medium', timeStyle: 'medium' }),
  }
  return newest
}

/** A language tag that `Intl` knows, or English. */
export function readableLocale(locale: string): string {
  try {
    return Intl.NumberFormat.supportedLocalesOf(locale)[0] ?? 'en'
  } catch {
    return 'en'
  }
}
