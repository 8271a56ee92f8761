import { expect, test } from 'vitest'
import { Slices } from '../../../../core/slices.ts'
import { newPrints, printsInSlices, printsOf } from './prints.ts'

const TEXT = 'Nine trucks, four days and one very tired drummer: that is how a tour begins. Come and hear it.'
const shares = (one: string, other: string) => {
  const known = new Set(printsOf(one))
  return printsOf(other).some((print) => known.has(print))
}

test.each([
  ['the same text', TEXT],
  [
    'another case, punctuation, hashtags and links',
    `${TEXT.toUpperCase().replaceAll(',', ' –')} #tour https://a.example`,
  ],
  ['eleven words in sequence', 'four days and one very tired drummer: that is how a'],
  ['a sentence inside of another text', `Hello there. ${TEXT} Bye.`],
])('recognizes %s', (_what, other) => {
  expect(shares(TEXT, other)).toBe(true)
})

test.each([
  ['a few common words', 'Nine trucks, four days. Come and hear it.'],
  ['a short phrase', 'Come and hear it.'],
  ['nothing', ''],
  ['only hashtags', '#tour #live'],
])('does not recognize %s', (_what, other) => {
  expect(shares(TEXT, other)).toBe(false)
})

test('recognizes languages without spaces, and short texts as a whole', () => {
  expect(
    shares('今夜ベルリンで演奏します。ぜひ聴きに来てください。', '皆さん。今夜ベルリンで演奏します。またね。'),
  ).toBe(true)
  expect(shares('Doors at eight', 'doors at eight!')).toBe(true)
  expect(shares('Doors at eight', 'The doors at eight were red.')).toBe(false)
  expect(shares('Soon!', 'Soon!')).toBe(false)
})

test('leaves out what was there before', () => {
  expect(newPrints([TEXT], [TEXT])).toEqual([])
  expect(newPrints([TEXT], ['Something else that somebody wrote before.'])).toEqual(printsOf(TEXT))
})

test('a very long text has a bounded number', () => {
  const words = Array.from({ length: 60_000 }, (_, index) => `w${index}${index % 40 === 39 ? '.' : ''}`)
  expect(printsOf(words.join(' ')).length).toBeLessThan(20_100)
})

test('long texts are read in slices, with the same fingerprints', async () => {
  let pauses = 0
  const slices = new Slices({ now: () => 0, monotonic: () => (pauses += 1) && 0 })
  const long = Array.from({ length: 6_000 }, (_, index) => `word${(index * 7919) % 6_000}`).join(' ')
  expect(await printsInSlices([long, TEXT], slices)).toEqual([...new Set([...printsOf(long), ...printsOf(TEXT)])])
  expect(pauses).toBeGreaterThan(20)
})
