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
})
