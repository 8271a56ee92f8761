import { describe, expect, test } from 'vitest'
import { standardRate, STANDARD_RATES } from './rates.ts'
import { quoteTaxes, taxRule, type TaxBuyer } from './tax.ts'
import { isVatNumber, normalizeVatNumber } from './vat-numbers.ts'

const at = (day: string) => Date.parse(`${day}T12:00:00Z`)
const NOW = at('2026-11-23')
const GERMAN = { country: 'DE', vatNumber: 'DE136695976' }
const AMERICAN = { country: 'US', vatNumber: undefined }
const person = (country: string): TaxBuyer => ({ kind: 'person', country, vatNumber: null })
const business = (country: string, vatNumber: string | null): TaxBuyer => ({ kind: 'business', country, vatNumber })

/** Numbers that the tax offices publish as examples, and of large companies. */
const VALID = {
  AT: 'ATU13585627',
  BE: 'BE0428759497',
  DE: 'DE136695976',
  DK: 'DK13585628',
  ES: 'ESA13585625',
  FI: 'FI20774740',
  FR: 'FR40303265045',
  GR: 'EL094259216',
  IE: 'IE6433435F',
  IT: 'IT00743110157',
  LU: 'LU15027442',
  NL: 'NL004495445B01',
  PL: 'PL8567346215',
  PT: 'PT501964843',
  SE: 'SE556188840401',
}

describe('rates', () => {
  test.each([
    ['DE', '2020-06-30', 1_900],
    ['DE', '2020-07-01', 1_600],
    ['DE', '2020-12-31', 1_600],
    ['DE', '2021-01-01', 1_900],
    ['FI', '2024-08-31', 2_400],
    ['FI', '2024-09-01', 2_550],
    ['EE', '2025-07-01', 2_400],
  ])('of %s on %s', (country, day, expected) => {
    expect(standardRate(country, at(day))).toBe(expected)
  })

  test('of all 27 members are known, in the order of their days', () => {
    expect(Object.keys(STANDARD_RATES)).toHaveLength(27)
    for (const rates of Object.values(STANDARD_RATES)) {
      const days = rates.map(([from]) => from)
      expect(days).toEqual(days.toSorted())
    }
    expect(() => standardRate('US', NOW)).toThrow(RangeError)
    expect(() => standardRate('DE', at('1990-01-01'))).toThrow(RangeError)
  })
})

describe('VAT numbers', () => {
  test.each(Object.entries(VALID))('of %s: %s', (country, vatNumber) => {
    expect(isVatNumber(vatNumber, country)).toBe(true)
    const last = /\d(?=\D*$)/.exec(vatNumber)?.index ?? 0
    const wrong = `${vatNumber.slice(0, last)}${(Number(vatNumber[last]) + 1) % 10}${vatNumber.slice(last + 1)}`
    if (country !== 'NL') expect(isVatNumber(wrong, country), wrong).toBe(false)
    expect(isVatNumber(vatNumber, country === 'DE' ? 'AT' : 'DE')).toBe(false)
  })

  test('are read with spaces and in lower case, but not from outside of the Union', () => {
    expect(normalizeVatNumber(' de 136.695-976 ')).toBe('DE136695976')
    expect(isVatNumber('CHE123456788MWST', 'CH')).toBe(false)
    expect(isVatNumber('', 'DE')).toBe(false)
  })
})

describe('the rule for', () => {
  test.each([
    ['a person at home', GERMAN, person('DE'), 'standard', 'DE', 1_900],
    ['a business at home', GERMAN, business('DE', 'DE136695976'), 'standard', 'DE', 1_900],
    ['a person elsewhere in the Union', GERMAN, person('FI'), 'standard', 'FI', 2_550],
    ['a business elsewhere in the Union', GERMAN, business('FR', VALID.FR), 'reverse_charge', 'FR', 0],
    ['a business with a number of another country', GERMAN, business('FR', VALID.IT), 'standard', 'FR', 2_000],
    ['a business with wrong check digits', GERMAN, business('FR', 'FR41303265045'), 'standard', 'FR', 2_000],
    ['a business without a number', GERMAN, business('FR', null), 'standard', 'FR', 2_000],
    ['a person with a number', GERMAN, { ...business('FR', VALID.FR), kind: 'person' }, 'standard', 'FR', 2_000],
    ['a buyer outside of the Union', GERMAN, business('US', null), 'outside', null, 0],
    ['a person, of a seller who is not registered', AMERICAN, person('DE'), 'outside', null, 0],
    [
      'a person, of a registered seller',
      { ...AMERICAN, vatNumber: 'EU372000041' },
      person('DE'),
      'standard',
      'DE',
      1_900,
    ],
    ['a business, of a seller outside of the Union', AMERICAN, business('DE', VALID.DE), 'reverse_charge', 'DE', 0],
    ['an American of an American', AMERICAN, person('US'), 'outside', null, 0],
    [
      'anyone, of a seller without a country',
      { country: undefined, vatNumber: undefined },
      person('DE'),
      'outside',
      null,
      0,
    ],
  ] as const)('%s', (_what, seller, buyer, treatment, country, basisPoints) => {
    expect(taxRule(seller, buyer, NOW)).toMatchObject({ treatment, country, basisPoints })
  })

  test('a sale is that of its day', () => {
    const [tax] = quoteTaxes(taxRule(GERMAN, person('DE'), at('2020-08-01')), 10_003)
    expect(tax).toMatchObject({ description: 'VAT 16 % (Germany)', net: 10_003, amount: 1_600 })
    const [now] = quoteTaxes(taxRule(GERMAN, person('FI'), NOW), 1_000)
    expect(now).toMatchObject({ description: 'VAT 25.5 % (Finland)', amount: 255 })
  })

  test('reverse charge is a tax of 0 with its reason, and none is none', () => {
    const [tax] = quoteTaxes(taxRule(GERMAN, business('FR', VALID.FR), NOW), 1_000)
    expect(tax).toMatchObject({ description: 'VAT 0 % (reverse charge)', amount: 0, vatNumber: VALID.FR })
    expect(quoteTaxes(taxRule(GERMAN, person('US'), NOW), 1_000)).toEqual([])
  })
})
