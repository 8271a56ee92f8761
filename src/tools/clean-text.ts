/**
 * What neither PostgreSQL nor XML 1.0 can hold, or what nobody can see: C0 controls but for tab and line ends, DEL, C1
 * controls, and the noncharacters U+FFFE and U+FFFF.
 */
// oxlint-disable-next-line no-control-regex
const UNUSABLE = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u0084\u0086-\u009F\uFFFE\uFFFF]/g

/**
 * Cleans text that comes from elsewhere than a JSON request, whose validator refuses such text: mail, CSV, replies of
 * platforms, feeds, file names. Unpaired surrogates become U+FFFD, and the characters above are left out.
 */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(UNUSABLE, '')
}

/** What `publicText` may have to change. */
// oxlint-disable-next-line no-control-regex
const TO_CLEAN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\uFFFE\uFFFF]/

/**
 * Cleans text for others, such as social networks: without control characters but for tab and line feed, without unpaired
 * surrogates and noncharacters. Every line end becomes a line feed.
 */
export function publicText(text: string): string {
  // Nearly all texts are clean already.
  if (!TO_CLEAN.test(text) && text.isWellFormed()) return text
  return cleanText(text.replaceAll(/\p{Surrogate}/gu, '').replaceAll(/\r\n?|\u0085/g, '\n'))
}

/** How unusable characters can stand in JSON: escaped, or as they are. */
// oxlint-disable-next-line no-control-regex
const SUSPICIOUS = /\\[bf]|\\u(?:00[0189]|[dD][89a-fA-F]|[fF]{3}[eEfF])|[\u007F-\u009F\uFFFE\uFFFF]/

/**
 * Parses JSON that comes from elsewhere, with all texts in it cleaned, as names and values.
 * @throws SyntaxError
 */
export function parseForeignJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return SUSPICIOUS.test(text) ? cleanTexts(value) : value
}

/** A plain value with all texts in it cleaned. */
export function cleanTexts(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [cleanText(name), cleanTexts(inner)]))
}
