/** Languages with a code of two letters, by their English names, which OpenAI's audio interface replies with. */
const BY_NAME = new Map<string, string>()
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('')
const NAMES = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })
for (const code of LETTERS.flatMap((first) => LETTERS.map((second) => first + second))) {
  const name = NAMES.of(code)
  // Old codes have the name of the new one.
  if (name !== undefined && new Intl.Locale(code).language === code) BY_NAME.set(name.toLowerCase(), code)
}

/** The tag of a language that is named by its tag or in English. Null if it is unknown. */
export function languageTag(text: string | null | undefined): string | null {
  const name = text?.trim().toLowerCase() ?? ''
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  return /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/.test(name) ? new Intl.Locale(name).toString() : null
}
