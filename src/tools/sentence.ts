/** What ends a sentence, also before a closing quotation mark or bracket. */
const ENDS = /[.?!…][”’"')\]]?$/
const STOPS = new Set(['.', '?', '!', '…'])

/**
 * A text as a sentence: it ends with one full stop, question mark or exclamation mark. Reasons that others have written
 * (platforms, parsers, programs) may have an end of their own or not.
 */
export function sentence(text: string): string {
  let end = text.trimEnd()
  while (end.endsWith('.') && STOPS.has(end.at(-2) ?? '')) end = end.slice(0, -1)
  return end === '' || ENDS.test(end) ? end : `${end}.`
}

/** What a part of a request has, in words. */
const PARTS: Readonly<Record<string, string>> = {
  body: 'field',
  query: 'parameter',
  path: 'parameter',
  headers: 'header',
}

/**
 * The error of a field as a sentence, such as `The field targets.0.accountId must be a UUID.`
 * @param path JSON pointer, as in `FieldError`
 * @param message continues the sentence
 */
export function fieldSentence(path: string, message: string): string {
  const [, part = '', ...names] = path.split('/')
  const where = names.length === 0 ? `The ${part}` : `The ${PARTS[part] ?? part} ${names.join('.')}`
  return sentence(`${where} ${message}`)
}
