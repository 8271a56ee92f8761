/** Texts in the reader's language, and amounts and days as the reader writes them. */

const available = document.querySelector('meta[name=crier-languages]').content.split(' ')
const wanted = navigator.languages.map((tag) => [tag, tag.split('-', 1)[0]])
/** The first language of the reader that has texts, with the reader's own region. */
const [locale, language] = wanted.find(([, name]) => available.includes(name)) ?? ['en-GB', 'en']
const { default: file } = await import(`/pages/billing/texts-${language}.js`)

document.documentElement.lang = language
document.title = `${t('title')} – Crier`

/** A text. `{name}` in it stands for a value. */
export function t(key, values = {}) {
  const text = file.texts[key]
  if (text === undefined) return key
  return text.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''))
}

/** The text of a state that the server names. */
export function named(group, value) {
  return file.texts[`${group}.${value}`] ?? value
}

/** An amount in minor units. The digits are those of ISO 4217, because browsers have others for some currencies. */
export function money({ amount, currency }) {
  const digits = file.digits[currency] ?? 2
  const text = String(Math.abs(amount)).padStart(digits + 1, '0')
  const cut = text.length - digits
  const decimal = `${amount < 0 ? '-' : ''}${text.slice(0, cut)}${digits === 0 ? '' : `.${text.slice(cut)}`}`
  const options = { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits }
  return new Intl.NumberFormat(locale, options).format(decimal)
}

/** A typed amount in minor units. Undefined if it is not an amount. */
export function minorUnits(typed, currency) {
  const digits = file.digits[currency] ?? 2
  const [, whole, , fraction = ''] = /^\s*(\d{1,9})([.,](\d+))?\s*$/.exec(typed) ?? []
  if (whole === undefined || fraction.length > digits) return undefined
  return Number(whole + fraction.padEnd(digits, '0'))
}

/** Days are UTC, as on invoices. */
export function day(at) {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(at))
}

export function time(at) {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(at))
}

export function count(value) {
  return new Intl.NumberFormat(locale).format(value)
}

export function bytes(value) {
  const options = { style: 'unit', unit: 'gigabyte', maximumFractionDigits: 1 }
  return new Intl.NumberFormat(locale, options).format(value / 1e9)
}

export function countryName(code) {
  return new Intl.DisplayNames(locale, { type: 'region' }).of(code) ?? code
}

export { language }
