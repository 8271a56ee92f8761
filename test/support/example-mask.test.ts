import { describe, expect, test } from 'vitest'
import { ExampleMask } from './example-mask.ts'

const RANDOM = 'XVvpyFQjrxZmEOntD_bJdleMvvPQyowtVmnBas-lMEU'
const FILLED = 'EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEE'.slice(0, RANDOM.length)

function mask(): ExampleMask {
  return new ExampleMask({ seed: 'seed', sentAt: 0, ids: new Map(), literal: {}, addresses: {} })
}

describe('ExampleMask', () => {
  // One in 140 random words of 43 base64url characters has no digit.
  test.each([
    ['a signature', `/file?expires=1795291200&signature=${RANDOM}`, `&signature=${FILLED}`],
    ['a token in a fragment', `https://crier.example.com/reset#token=${RANDOM}`, `#token=${FILLED}`],
    ['a short code', '/callback?code=abcdefghijklmnopqrst', '?code=EXAMPLEEXAMPLEEXAMPL'],
    ['a bare word', RANDOM, FILLED],
  ])('masks %s without a digit', (_name, text, shown) => {
    const masked = mask()
    expect(masked.apply(text)).toContain(shown)
    expect(masked.secrets.size).toBe(1)
  })

  test('keeps names in camel case', () => {
    expect(mask().apply('aRatherLongNameInCamelCase')).toBe('aRatherLongNameInCamelCase')
  })

  test.each([
    ['made a minute before the request', '1969-12-31T23:59:00.123Z', '2026-11-21T18:30:00.000Z'],
    ['of the reply', '1970-01-01T00:00:02.000Z', '2026-11-21T18:30:00.000Z'],
    ['a quarter of an hour after something made before', '1970-01-01T00:14:20.000Z', '2026-11-21T18:45:00.000Z'],
    ['of a clock', '1970-01-01T00:59:20', '2026-11-21T19:30:00'],
  ])('rounds a time %s', (_name, time, shown) => {
    expect(mask().apply(time)).toBe(shown)
  })
})
