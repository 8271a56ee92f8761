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
