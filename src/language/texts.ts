import { readdirSync, readFileSync } from 'node:fs'
import { IntlMessageFormat } from 'intl-messageformat'
import type english from './languages/en.json'

/** The name of a text. `languages/en.json` has all of them. */
export type TextKey = keyof typeof english

export type TextValues = Readonly<Record<string, string | number>>

/** Texts for people, in one language. */
export interface Texts {
  /** The language tag of the file. */
  readonly language: string
  /** A text in ICU MessageFormat with its values. @throws when a value is missing */
  say(key: TextKey, values?: TextValues): string
  /** The same for a key that is not known before run time. */
  find(key: string, values?: TextValues): string
  /** A day, such as “2 December 2026”, in UTC. */
  day(at: number): string
  /** A day and a time of day, in UTC. */
  time(at: number): string
}

const FOLDER = new URL('languages/', import.meta.url)
const DEFAULT = 'en'

/** Every file of the folder, by its language tag. A new language is a new file. */
const files: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [
      name.slice(0, -'.json'.length),
      JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Record<string, string>,
    ]),
)

/** The languages that have texts. */
export const LANGUAGES: readonly string[] = [...files.keys()].toSorted()

const made = new Map<string, Texts>()

/** The texts for a reader. @param locale a language tag (BCP 47); English if there are none for it */
export function textsFor(locale: string): Texts {
  const language = [locale, locale.split('-', 1)[0] ?? ''].find((tag) => files.has(tag)) ?? DEFAULT
  const known = made.get(language)
  if (known !== undefined) return known
  const texts = textsOf(language)
  made.set(language, texts)
  return texts
}

/** The texts of a language as its file has them. For tests. */
export function rawTexts(language: string): Readonly<Record<string, string>> {
  return files.get(language) ?? {}
}

function textsOf(language: string): Texts {
  const parsed = new Map<string, IntlMessageFormat>()
  const find = (key: string, values: TextValues = {}): string => {
    let format = parsed.get(key)
    if (format === undefined) {
      // A language without a text shows the English one.
      const own = files.get(language)?.[key]
      const text = own ?? files.get(DEFAULT)?.[key]
      if (text === undefined) throw new Error(`there is no text ${key}`)
      format = new IntlMessageFormat(text, own === undefined ? DEFAULT : language)
      parsed.set(key, format)
    }
    return String(format.format(values))
  }
  const options = { timeZone: 'UTC', dateStyle: 'long' } as const
  const day = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, options)
  const time = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { ...options, timeStyle: 'short' })
  return {
    language,
    say: find,
    find,
    day: (at) => day.format(at),
    time: (at) => `${time.format(at)} UTC`,
  }
}
