import { acceptedTag } from '../../../language/accepted.ts'
import { textsFor, type Texts } from '../../../language/texts.ts'
import { readableLocale } from './money-format.ts'

/** The language of a document, and how it writes amounts and days. */
export interface DocumentLanguage {
  readonly texts: Texts
  /** For `Intl`, such as `de-AT`. */
  readonly locale: string
}

/** English days are written as in Britain, where the day comes first: `10 Mar 2026` is read everywhere. */
const USUAL: Readonly<Record<string, string>> = { en: 'en-GB' }

/**
 * The language of a document: the one that the request prefers, of those with texts, or else that of the buyer.
 * @param accepted an Accept-Language header
 * @param own the language tag of the buyer's settings
 */
export function documentLanguage(accepted: string | undefined, own: string): DocumentLanguage {
  return languageOf(acceptedTag(accepted, own))
}

/** A language with texts. @param tag a language tag (BCP 47), with the region by which amounts and days are written */
export function languageOf(tag: string): DocumentLanguage {
  const texts = textsFor(tag)
  const isRegional = tag.startsWith(`${texts.language}-`)
  return { texts, locale: readableLocale(isRegional ? tag : (USUAL[texts.language] ?? texts.language)) }
}
