import Negotiator from 'negotiator'
import { LANGUAGES, textsFor } from './texts.ts'

/**
 * The language of a document: the one that the request prefers, of those with texts, or else that of the reader.
 * @param accepted an Accept-Language header (RFC 9110, 12.5.4)
 * @param own the language tag of the reader's settings
 */
export function acceptedLanguage(accepted: string | undefined, own: string): string {
  const { language: fallback } = textsFor(own)
  // The first of them stands for `*`.
  const known = [fallback, ...LANGUAGES.filter((language) => language !== fallback)]
  const [language = fallback] =
    accepted === undefined ? [] : new Negotiator({ headers: { 'accept-language': accepted } }).languages(known)
  return language
}

/** The same as a language tag with the region of the reader, such as `de-AT`, if that is the reader's language. */
export function acceptedTag(accepted: string | undefined, own: string): string {
  const language = acceptedLanguage(accepted, own)
  return own.startsWith(`${language}-`) ? own : language
}
