import { expect, test } from 'vitest'
import { Secret } from 'otpauth'
import { newTotpSecret, totpStep, totpUri } from './totp.ts'

/** The secret and the last six digits of the codes of RFC 6238, appendix B. */
const SECRET = Secret.fromLatin1('12345678901234567890').base32
const VECTORS = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
] as const

test.each(VECTORS)('at %i s the code is %s', (seconds, code) => {
  expect(totpStep(SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
})

test('a code counts one period before and after its own, and names its own step', () => {
  const [seconds, code] = VECTORS[3]
  const step = Math.floor(seconds / 30)
  expect(totpStep(SECRET, code, (step + 2) * 30_000 - 1)).toBe(step)
  expect(totpStep(SECRET, code, (step - 1) * 30_000)).toBe(step)
  expect(totpStep(SECRET, code, (step + 2) * 30_000)).toBeUndefined()
  expect(totpStep(SECRET, code, (step - 1) * 30_000 - 1)).toBeUndefined()
})

test('the URI has the secret, the account and the format', () => {
  const secret = newTotpSecret()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(newTotpSecret()).not.toBe(secret)
  const uri = new URL(totpUri(secret, 'ada+x@example.com'))
  expect([uri.protocol, decodeURIComponent(uri.pathname)]).toEqual(['otpauth:', '/Crier:ada+x@example.com'])
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    issuer: 'Crier',
    secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
