import { expect, test } from 'vitest'
import { isSame, isSameSecret, Key, keyFor } from './keys.ts'

const key = keyFor('a secret', 'tests')

test('a MAC belongs to one text, one purpose and one secret', () => {
  const mac = key.mac('a text')
  expect(key.matches('a text', mac)).toBe(true)
  expect(key.matches('a text', key.macBytes('a text'))).toBe(true)
  expect(key.matches('another', mac)).toBe(false)
  expect(keyFor('a secret', 'others').matches('a text', mac)).toBe(false)
  expect(keyFor('another', 'tests').matches('a text', mac)).toBe(false)
})

test('a MAC of another length is wrong and no error', () => {
  const mac = key.mac('a text')
  for (const wrong of ['', mac.slice(1), `${mac}A`, 'é'.repeat(43)]) expect(key.matches('a text', wrong)).toBe(false)
  expect(key.matches('a text', new Uint8Array(31))).toBe(false)
})

test('all forms of a MAC have the same bytes', () => {
  const bytes = key.macBytes('a text')
  expect(key.mac('a text')).toBe(bytes.toString('base64url'))
  expect(key.mac('a text', 'hex')).toBe(bytes.toString('hex'))
  expect(key.mac(Buffer.from('a text'))).toBe(key.mac('a text'))
})

test('MACs are HMAC with SHA-256 (RFC 4231, test case 2)', () => {
  expect(new Key('Jefe').mac('what do ya want for nothing?', 'hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  )
})

test('compares bytes, texts and secrets', () => {
  expect([isSame('abc', 'abc'), isSame('abc', 'abd'), isSame('abc', 'ab'), isSame('', '')]).toEqual([
    true,
    false,
    false,
    true,
  ])
  expect([isSameSecret('abc', 'abc'), isSameSecret('abc', 'abcd'), isSameSecret('', 'a')]).toEqual([true, false, false])
})
