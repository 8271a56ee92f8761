import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { page as pageOf, takesGzip } from './page.ts'

function page(text: string, headers?: Record<string, string>) {
  const made = pageOf('text/plain', text, headers)
  return { ...made, headers: made.headers ?? {} }
}

test.each<[accepted: string, boolean]>([
  ['', false],
  ['gzip', true],
  ['x-gzip', true],
  ['br, GZIP', true],
  ['*', true],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip ; q=0.001', true],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['br, *;q=0.5', true],
])('Accept-Encoding: %s', (accepted, taken) => {
  expect(takesGzip(accepted)).toBe(taken)
})

test('a page of 1,400 bytes is compressed, under another tag', () => {
  const text = 'x'.repeat(1_400)
  const small = page(text.slice(1))
  expect([small.compressed, small.headers['Vary']]).toEqual([undefined, undefined])
  const { compressed, content, headers } = page(text, { 'Referrer-Policy': 'no-referrer' })
  expect(gunzipSync(compressed!.content).toString()).toBe(text)
  expect(content.toString()).toBe(text)
  expect(headers).toMatchObject({
    Vary: 'Accept-Encoding',
    'Cache-Control': 'no-cache',
    'Referrer-Policy': 'no-referrer',
  })
  expect(headers['Content-Encoding']).toBeUndefined()
  expect(compressed?.headers).toMatchObject({ 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' })
  expect(compressed?.headers?.['ETag']).toBe(headers['ETag']?.replace(/"$/, '-gz"'))
  expect(headers['ETag']).toMatch(/^"[\w-]{22}"$/)
  expect(headers['ETag']).not.toBe(small.headers['ETag'])
})

test('a page that is compressed already is left as it is', () => {
  const packed = page('x'.repeat(2_000), { 'Content-Encoding': 'br' })
  expect([packed.compressed, packed.headers['Vary']]).toEqual([undefined, undefined])
})
