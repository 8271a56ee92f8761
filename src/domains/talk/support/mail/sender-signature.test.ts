import { createHash, createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { readSignature, TOLERANCE_MS } from './sender-signature.ts'

const SECRET = 'a secret of the mail server'
const MAIL = Buffer.from('Subject: Hello\r\n\r\nHello')
const AT = 1_793_534_400

function signed({ at = AT, mail = MAIL, secret = SECRET } = {}): string {
  const digest = createHash('sha256').update(mail).digest('hex')
  const mac = createHmac('sha256', secret).update(`${at}.${digest}`).digest('hex')
  return `t=${at},sha256=${digest},v1=${mac}`
}

test('accepts the mail that was signed, within the tolerance', () => {
  for (const offset of [0, TOLERANCE_MS, -TOLERANCE_MS]) {
    expect(readSignature(signed(), SECRET, AT * 1_000 + offset)?.(MAIL)).toBe(true)
  }
})

test('refuses another mail', () => {
  expect(readSignature(signed(), SECRET, AT * 1_000)?.(Buffer.from('Subject: Other'))).toBe(false)
})

test.each([
  ['another secret', signed({ secret: 'another' }), 0],
  ['an old time', signed(), TOLERANCE_MS + 1],
  ['a time in the future', signed(), -TOLERANCE_MS - 1],
  ['a time that was not signed', signed().replace(String(AT), String(AT + 1)), 0],
  [
    'a digest that was not signed',
    signed()
      .replace(/sha256=./, 'sha256=0')
      .replace(/sha256=0(?=0)/, 'sha256=1'),
    0,
  ],
  ['no HMAC', signed().replace(/,v1.*/, ''), 0],
  ['something else', 'whatever', 0],
])('refuses %s', (_what, header, offset) => {
  const isAltered = header !== signed() || offset !== 0
  expect([isAltered, readSignature(header, SECRET, AT * 1_000 + offset)]).toEqual([true, undefined])
})
