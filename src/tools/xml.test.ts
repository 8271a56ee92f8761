import { expect, test } from 'vitest'
import { element, xmlDocument, xmlOf } from './xml.ts'

test('texts and attributes are escaped, and keep what they say', () => {
  const text = `Q<A & "B" 'C' ]]> <![CDATA[ &amp; <!-- -- -->`
  const xml = xmlOf(element('a:b', { 'xmlns:a': 'urn:x', c: text }, text, element('d', {}, '1.50'), element('e', {})))
  const escaped = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;')
  expect(xml).toBe(`<a:b xmlns:a="urn:x" c="${escaped}">${escaped}<d>1.50</d><e></e></a:b>`)
})

test('what XML cannot contain is left out, and half of a character is replaced', () => {
  const hostile = 'a\u0000\u0001\b\u000B\u001F\uFFFE\uFFFFb \uD83D \uDE00 \u{1F600}'
  const shown = 'ab \uFFFD \uFFFD \u{1F600}'
  expect(xmlDocument(element('a', { b: hostile }, hostile))).toBe(
    `<?xml version="1.0" encoding="UTF-8"?>\n<a b="${shown}">${shown}</a>\n`,
  )
})
