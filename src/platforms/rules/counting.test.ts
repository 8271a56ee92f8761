import { array, assert, constantFrom, nat, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { countText, fitsForSure } from './counting.ts'
import { COUNTING, type CountingMethod } from './rule.ts'

const FAMILY = '👨‍👩‍👧‍👦'
const FLAG = '🇩🇪'
const KEYCAP = '1️⃣'
const COMBINING = 'e\u0301'
const METHODS = Object.keys(COUNTING) as CountingMethod[]

test.each<[CountingMethod, string, number]>([
  ['characters', 'naïve', 5],
  ['characters', '😀', 1],
  ['characters', FAMILY, 7],
  ['characters', COMBINING, 2],
  ['graphemes', FAMILY, 1],
  ['graphemes', FLAG + FLAG, 2],
  ['graphemes', COMBINING, 1],
  ['graphemes', '\r\n', 1],
  ['bytes', 'naïve', 6],
  ['bytes', '漢', 3],
  ['bytes', FAMILY, 25],
  ['utf16', '😀', 2],
  ['utf16', FAMILY, 11],
  ['x_weighted', 'Hello', 5],
  ['x_weighted', '漢字だ', 6],
  ['x_weighted', FAMILY, 2],
  ['x_weighted', FLAG, 2],
  // X normalizes to NFC before it counts.
  ['x_weighted', COMBINING, 1],
  ['x_weighted', 'https://example.com/a/very/long/path?with=a&query=string#and-a-fragment', 23],
  ['x_weighted', 'example.com', 23],
  ['x_weighted', 'Read https://example.com.', 29],
  ['mastodon', 'Hello', 5],
  ['mastodon', FAMILY, 1],
  ['mastodon', 'https://example.com/a/very/long/path?with=a&query=string#and-a-fragment', 23],
  ['mastodon', 'Read https://example.com.', 29],
  ['mastodon', '(https://example.com/a)', 25],
  ['mastodon', 'http://a.example https://b.example', 47],
  // Without a protocol it is not shown as a link.
  ['mastodon', 'example.com', 11],
  ['mastodon', '@ada@social.example hi', 7],
  ['mastodon', '@ada hi', 7],
  ['mastodon', 'ada@social.example', 18],
  ['threads', 'Hello', 5],
  ['threads', 'naïve', 5],
  ['threads', '漢', 1],
  ['threads', '😀', 4],
  ['threads', FAMILY, 25],
  ['threads', FLAG, 8],
  ['threads', KEYCAP, 7],
  ['threads', '1 # *', 5],
  ['threads', '❤️', 6],
])('%s counts %j as %i', (counting, text, length) => {
  expect(countText(counting, text)).toBe(length)
})

test('an empty text has no length', () => {
  for (const method of METHODS) expect(countText(method, '')).toBe(0)
})

test('every method takes every text, also broken UTF-16', () => {
  assert(
    property(constantFrom(...METHODS), array(nat(0xffff), { maxLength: 200 }), (method, units) => {
      const length = countText(method, String.fromCharCode(...units))
      return Number.isInteger(length) && length >= 0
    }),
  )
})

test('a text that fits for sure fits when it is counted', () => {
  const pieces = constantFrom(
    'a',
    ' ',
    '.',
    'a.co',
    'http://a.co',
    'https://x',
    '@a@b.c',
    '漢',
    FAMILY,
    FLAG,
    KEYCAP,
    '\u0958',
    '\u{1D160}',
  )
  assert(
    property(constantFrom(...METHODS), array(pieces, { maxLength: 30 }), nat(200), (method, parts, limit) => {
      const text = parts.join('')
      return !fitsForSure(method, text, limit) || countText(method, text) <= limit
    }),
    { numRuns: 2_000 },
  )
  for (const method of METHODS) expect(fitsForSure(method, 'A short text', 280)).toBe(true)
})

test('X counts URLs beside a run of letters that is too long for a host', () => {
  expect(countText('x_weighted', `${'a.'.repeat(200)} https://example.com/${'a'.repeat(400)}`)).toBe(400 + 1 + 23)
})

test('graphemes are counted as Intl.Segmenter counts them', () => {
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
  assert(
    property(
      string({ unit: 'grapheme', maxLength: 100 }),
      (text) => countText('graphemes', text) === Array.from(segmenter.segment(text)).length,
    ),
  )
})

test.each(METHODS)('%s counts a long hostile text in a moment', (method) => {
  // A method that looks back over the text for each character would take minutes.
  const texts = [
    'a.'.repeat(12_000),
    'www.'.repeat(6_000),
    'https://a.b/'.repeat(3_000),
    '@a@'.repeat(12_000),
    '('.repeat(40_000),
    FAMILY.repeat(3_000),
  ]
  for (const text of texts) expect(countText(method, text)).toBeGreaterThan(0)
})
