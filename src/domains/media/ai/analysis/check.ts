import type { AnalysisFact } from './facts.ts'

/** A sentence of an analysis, with the numbers of the facts that it rests on. */
export interface CitedSentence {
  readonly text: string
  readonly factNumbers: readonly number[]
}

/** Numbers in digits: `1,234`, `1.234`, `12 %`, `3.5K`. Dates are removed before. */
const NUMBERS = /(\d[\d.,'’\u00a0\u202f]*\d|\d)\s?(%|percent|Prozent|k|K|M|m|Mio|million|thousand|tausend)?/gu
const DATE = /\b\d{4}-\d{2}-\d{2}\b/g
/** Amounts in words cannot be compared with figures. English and German. */
const WORDS =
  /\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundreds?|thousands?|millions?|half|third|quarter|twice|doubled?|tripled?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|tausend|millionen|hälfte|drittel|viertel|doppelt|verdoppelt|verdreifacht)\b/iu

/**
 * Keeps the sentences that cite facts, and whose figures are all in the facts that they cite. The dates must be in the
 * facts too. A figure may be rounded to the digits that it shows.
 */
export function keepProven(sentences: readonly CitedSentence[], facts: readonly AnalysisFact[]): CitedSentence[] {
  const known = new Map(facts.map((fact) => [fact.factNumber, fact]))
  return sentences.filter(({ factNumbers, text }) => {
    const cited = factNumbers.flatMap((number) => known.get(number) ?? [])
    if (cited.length === 0 || cited.length !== factNumbers.length || WORDS.test(text)) return false
    const dates = text.match(DATE) ?? []
    const statements = facts.map(({ statement }) => statement).join(' ')
    // Names of accounts may contain digits.
    const bare = cited.reduce((rest, { statement }) => withoutName(rest, statement), text.replaceAll(DATE, ' '))
    return dates.every((date) => statements.includes(date)) && figuresOf(bare).every((one) => isIn(one, cited))
  })
}

interface Figure {
  /** The figure can be read with a comma or a point for decimals. */
  readonly readings: readonly { readonly value: number; readonly step: number }[]
  readonly isShare: boolean
}

function figuresOf(text: string): Figure[] {
  return [...text.matchAll(NUMBERS)].map(([, digits = '', unit = '']) => {
    const factor = /^(k|K|thousand|tausend)$/u.test(unit) ? 1_000 : /^(M|m|Mio|million)$/u.test(unit) ? 1e6 : 1
    const isShare = /^(%|percent|Prozent)$/u.test(unit)
    const bare = digits.replaceAll(/['’\u00a0\u202f]/g, '')
    const readings = [
      [',', '.'],
      ['.', ','],
    ].flatMap(([group = '', point = '']) => {
      const plain = bare.replaceAll(group, '').replace(point, '.')
      const value = Number(plain)
      const decimals = plain.split('.')[1]?.length ?? 0
      return Number.isFinite(value) ? [{ value: value * factor, step: factor / 10 ** decimals }] : []
    })
    return { readings, isShare }
  })
}

function isIn({ isShare, readings }: Figure, facts: readonly AnalysisFact[]): boolean {
  const values = facts.flatMap(({ values: all }) => all).map((value) => Math.abs(isShare ? value * 100 : value))
  // Half of the last digit that is shown.
  return readings.some(({ step, value }) => values.some((one) => Math.abs(one - value) <= step / 2 + 1e-9))
}

function withoutName(text: string, statement: string): string {
  const name = /^(.+) \([a-z]+\) /u.exec(statement)?.[1]
  return name === undefined ? text : text.replaceAll(name, ' ')
}
