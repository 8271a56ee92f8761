import type { Texts } from '../../../language/texts.ts'
import type { InvoiceLine } from './content.ts'
import type { DocumentLanguage } from './language.ts'
import { formatMoment } from './money-format.ts'
import { periodOf } from './service-period.ts'
import { countryName, type TaxRule } from './tax/tax.ts'

/** What a line is for. */
export function lineText(
  line: Pick<InvoiceLine, 'description' | 'text' | 'from' | 'to'>,
  { locale, texts }: DocumentLanguage,
): string {
  const { description, text } = line
  if (text === undefined) return description
  const period = periodOf(line)
  const times =
    period === undefined
      ? {}
      : { from: formatMoment(period.from, locale), to: `${formatMoment(period.to, locale)} UTC` }
  return texts.say(text.key, { ...text.values, ...times })
}

/** What a tax is, such as `VAT 19 % (Germany)`. */
export function taxText(
  { basisPoints, country, treatment }: Pick<TaxRule, 'basisPoints' | 'country' | 'treatment'>,
  texts: Texts,
): string {
  if (treatment === 'outside') return texts.say('invoice.tax.outside')
  if (treatment === 'reverse_charge') return texts.say('invoice.tax.reverse')
  const name = countryName(country ?? '', texts.language)
  return texts.say('invoice.tax.standard', { rate: basisPoints / 100, country: name })
}
