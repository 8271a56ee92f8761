import { textsFor, type TextKey, type Texts, type TextValues } from '../../../../language/texts.ts'

/** The languages of reports. Each has all texts. */
export const REPORT_LANGUAGES = ['en', 'de'] as const
export type ReportLanguageName = (typeof REPORT_LANGUAGES)[number]

const PREFIX = 'socialReport.'
/** The name of a text of reports, without `socialReport.`. */
export type ReportTextKey = TextKey extends infer K ? (K extends `socialReport.${infer Rest}` ? Rest : never) : never

/** How a report writes in one language. */
export interface ReportWords {
  readonly language: ReportLanguageName
  /** A text by its name without `socialReport.`. */
  readonly say: (key: ReportTextKey, values?: TextValues) => string
  readonly number: (value: number) => string
  /** @param share 0.05 is 5 %. */
  readonly percent: (share: number) => string
  /** The same with a sign. */
  readonly change: (share: number) => string
  /** A number with a sign. */
  readonly difference: (value: number) => string
  /** @param date `YYYY-MM-DD` */
  readonly day: (date: string) => string
  readonly span: (from: string, to: string) => string
  /** A name within a sentence: English writes nouns in lower case. */
  readonly within: (name: string) => string
  /** Days with times in a zone. */
  readonly timesIn: (zone: string) => (at: string) => string
  /** Times of day in a zone, with seconds. */
  readonly clockIn: (zone: string) => (at: string) => string
}

/** English days are written as in Britain, where the day comes first: `10 Mar 2026` is read everywhere. */
const LOCALES: Readonly<Record<ReportLanguageName, string>> = { en: 'en-GB', de: 'de-DE' }

const made = new Map<ReportLanguageName, ReportWords>()

/** @param tag a language tag. English if reports do not have the language */
export function reportLanguage(tag: string): ReportLanguageName {
  const { language } = textsFor(tag)
  return REPORT_LANGUAGES.find((name) => name === language) ?? 'en'
}

export function reportWords(language: ReportLanguageName): ReportWords {
  const known = made.get(language)
  if (known !== undefined) return known
  const words = wordsOf(language, textsFor(language))
  made.set(language, words)
  return words
}

function wordsOf(language: ReportLanguageName, texts: Texts): ReportWords {
  const locale = LOCALES[language]
  const percents = { style: 'percent', maximumFractionDigits: 1 } as const
  const [number, percent] = [new Intl.NumberFormat(locale), new Intl.NumberFormat(locale, percents)]
  const difference = new Intl.NumberFormat(locale, { signDisplay: 'exceptZero' })
  const change = new Intl.NumberFormat(locale, { ...percents, signDisplay: 'exceptZero' })
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const day = (date: string) => days.format(Date.parse(date))
  const say = (key: ReportTextKey, values?: TextValues) => texts.say(`${PREFIX}${key}`, values)
  const inZone = (options: Intl.DateTimeFormatOptions) => (zone: string) => {
    const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone })
    return (at: string) => format.format(Date.parse(at))
  }
  return {
    language,
    say,
    number: (value) => number.format(value),
    percent: (share) => percent.format(share),
    change: (share) => change.format(share),
    difference: (value) => difference.format(value),
    day,
    span: (from, to) => say('span', { from: day(from), to: day(to) }),
    within: (name) => (language === 'en' ? name.toLowerCase() : name),
    timesIn: inZone({ dateStyle: 'medium', timeStyle: 'short' }),
    clockIn: inZone({ timeStyle: 'medium' }),
  }
}
