import Negotiator from 'negotiator'
import { LANGUAGES, textsFor, type Texts } from '../../../language/texts.ts'
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
  const { language: fallback } = textsFor(own)
  // The first of them stands for `*`.
  const known = [fallback, ...LANGUAGES.filter((language) => language !== fallback)]
  const [language = fallback] =
    accepted === undefined ? [] : new Negotiator({ headers: { 'accept-language': accepted } }).languages(known)
  return languageOf(language, own)
}

/** A language with texts, in the region of the buyer's language tag if that is the same language. */
export function languageOf(language: string, own = language): DocumentLanguage {
  const texts = textsFor(language)
  const isRegional = own.startsWith(`${texts.language}-`)
  return { texts, locale: readableLocale(isRegional ? own : (USUAL[texts.language] ?? texts.language)) }
}
