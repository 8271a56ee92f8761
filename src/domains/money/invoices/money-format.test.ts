import { expect, test } from 'vitest'
import { decimalOf, formatDay, formatMoney, readableLocale } from './money-format.ts'

test.each([
  [1_050, 'USD', '10.50'],
  [5, 'EUR', '0.05'],
  [-5, 'EUR', '-0.05'],
  [1_050, 'JPY', '1050'],
  [1_050, 'HUF', '10.50'],
  [1_050, 'KWD', '1.050'],
  [9_007_199_254_740_991, 'USD', '90071992547409.91'],
])('%s of %s is %s', (amount, currency, expected) => {
  expect(decimalOf(amount, currency)).toBe(expected)
})

test('amounts and days are written as in the language of the reader', () => {
  expect(formatMoney(123_450, 'EUR', 'de-DE')).toBe('1.234,50\u00A0€')
  expect(formatMoney(123_450, 'USD', 'en')).toBe('$1,234.50')
  expect(formatMoney(9_007_199_254_740_991, 'USD', 'en')).toBe('$90,071,992,547,409.91')
  expect(formatMoney(1_050, 'HUF', 'en')).toBe('HUF\u00A010.50')
  expect(formatDay('2026-11-23T23:30:00.000Z', 'en-GB')).toBe('23 Nov 2026')
  expect(readableLocale('de-AT')).toBe('de-AT')
  expect(readableLocale('x_nonsense')).toBe('en')
  expect(() => decimalOf(1, 'XYZ')).toThrow(RangeError)
})
