import { IntlMessageFormat } from 'intl-messageformat'
import { expect, test } from 'vitest'
import { LANGUAGES, rawTexts, textsFor } from './texts.ts'

/** The arguments of a text, also those within plurals and selections. */
function argumentsOf(text: string, language: string): string[] {
  const names = new Set<string>()
  const visit = (parts: readonly object[]): void => {
    for (const part of parts as { type: number; value?: string; options?: Record<string, { value: object[] }> }[]) {
      // 0 is literal text, and 7 the number sign of a plural.
      if (part.type !== 0 && part.type !== 7 && part.value !== undefined) names.add(part.value)
      for (const option of Object.values(part.options ?? {})) visit(option.value)
    }
  }
  visit(new IntlMessageFormat(text, language).getAst())
  return [...names].toSorted()
}

test('English and German are complete', () => {
  expect(LANGUAGES).toEqual(expect.arrayContaining(['de', 'en']))
  expect(Object.keys(rawTexts('de')).toSorted()).toEqual(Object.keys(rawTexts('en')).toSorted())
})

/** Only what other languages may use without English: German agrees with the number of people. */
const OPTIONAL = ['people', 'actors', 'count']

test.each(LANGUAGES)('the texts of %s are valid and use the arguments of the English ones', (language) => {
  for (const [key, text] of Object.entries(rawTexts(language))) {
    const english = rawTexts('en')[key]
    expect(english, key).toBeDefined()
    const needed = argumentsOf(english ?? '', 'en').filter((name) => !OPTIONAL.includes(name))
    const used = argumentsOf(text, language).filter((name) => !OPTIONAL.includes(name))
    expect(used, key).toEqual(needed)
  }
})

test('a reader gets the nearest language', () => {
  expect(textsFor('de-AT').say('mail.hello')).toBe('Hallo,')
  expect(textsFor('en-US').say('mail.hello')).toBe('Hello,')
  expect(textsFor('pl').say('mail.hello')).toBe('Hello,')
  expect(textsFor('de').day(Date.parse('2026-12-01T23:00:00Z'))).toBe('1. Dezember 2026')
})
