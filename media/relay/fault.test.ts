import { expect, test } from 'vitest'
import { sanitizePeerText, faultOfSocketError } from './fault.ts'

test.each([
  ['stream abcd-efgh is bad', 'abcd-efgh', 'stream [key] is bad'],
  ['abcd-efgh?x=topsecret / abcd-efgh / topsecret', 'abcd-efgh?x=topsecret', '[key] / [key] / [key]'],
  ['abcd%2Fefgh', 'abcd/efgh', '[key]'],
  ['it is x', 'x', 'it is [key]'],
  ['a\u0000b\r\nc\u202ed\u200be', 'secret', 'a b c d e'],
  ['', 'secret', ''],
  ['text without a key', '', 'text without a key'],
])('removes the key and control characters from %j', (text, key, clean) => {
  expect(sanitizePeerText(text, key)).toBe(clean)
})

test('limits the length of text from a server', () => {
  expect(sanitizePeerText('x'.repeat(10_000), 'secret')).toHaveLength(201)
})

test('reports a server that does not use TLS on an rtmps port', () => {
  const error = Object.assign(new Error('x'), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' })
  expect(faultOfSocketError(error, 'connect')).toMatchObject({
    code: 'tls_failed',
    message: 'TLS failed: the server does not use TLS on this port; try rtmp://.',
  })
})
